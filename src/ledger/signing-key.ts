import { existsSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { replaceFile } from '../core/atomic-file.ts';
import { syncToDisk } from '../core/open-file.ts';
import { AppError, usageError } from '../core/errors.ts';
import { makeFolder, readWholeFile } from '../core/folder.ts';
import { keyPath, readKey, readOrMakeKey } from '../core/secret-key.ts';
import { listCheckpointFiles, publicKeysPath } from './checkpoint.ts';
import { ledgerFolder } from './entry-file.ts';
import { handover, keyChain, ledgerName, readVkeys, type Rotation } from './key-chain.ts';
import {
  privateKeyOf,
  publicKeyOf,
  signatureOf,
  verifierOf,
  vkeyOf,
  type SignerKey,
  type VerifierKey,
} from './note.ts';
import type { OutsideSigner } from './outside-signer.ts';
import type { LedgerRecord } from './record.ts';

/** The name of the key, in the data folder, that signs the ledger. */
export const signingKeyName = 'ledger.key';
/** The key to come, until the ledger has it. */
const nextKeyName = 'ledger.key.next';

type RotationRecord = Extract<LedgerRecord, { type: 'key_rotated' }>;

/**
 * The key that signs the ledger's checkpoints now: the one of `outside` that is the ledger's, or that of the data folder, made at
 * its first use where there is none outside. `rotations` are those on the ledger: a list of public keys that lacks some, as an older
 * copy or a kill leaves it, gets them again, and a rotation that was killed halfway is brought to its end. Throws `storage` when
 * the key is lost, or is not the ledger's, and for a list that is another ledger's.
 */
export function signingKey(
  dataDir: string,
  rotations: readonly Rotation[],
  outside: readonly OutsideSigner[] = [],
): SignerKey {
  const folder = ledgerFolder(dataDir);
  const path = publicKeysPath(folder);
  const listed = existsSync(path) ? readListedKeys(path) : makeFirstKey(dataDir, folder, path, outside[0]);
  const keys = keysOf(path, listed, rotations);
  if (listed.length < keys.length) replaceFile(path, keys.map(vkeyLine).join(''));
  const { key, isWaiting } = findSigner(dataDir, keys, outside);
  if (isWaiting) {
    renameSync(keyPath(dataDir, nextKeyName), keyPath(dataDir, signingKeyName));
    syncToDisk(dirname(keyPath(dataDir, signingKeyName)));
  }
  return key;
}

/**
 * Throws as `signingKey` does where what is appended to the ledger could not be signed, and changes nothing. A ledger that has no
 * list of keys has not been signed yet. Returns whether a key of the data folder signs.
 */
export function refuseOtherKey(
  dataDir: string,
  rotations: readonly Rotation[],
  outside: readonly OutsideSigner[] = [],
): boolean {
  const folder = ledgerFolder(dataDir);
  const path = publicKeysPath(folder);
  if (existsSync(path))
    return 'privateKey' in findSigner(dataDir, keysOf(path, readListedKeys(path), rotations), outside).key;
  refuseLostList(folder, path);
  return outside.length === 0;
}

/** A ledger that was signed has a list of keys. */
function refuseLostList(folder: string, path: string): void {
  if (listCheckpointFiles(folder).length > 0)
    throw new AppError(`${path} is missing`, { code: 'storage', hint: 'restore the folder ledger/ from a backup' });
}

/** The keys of the ledger, by its first key and its own rotations: each key of its list has to be the one at its place. */
function keysOf(path: string, listed: readonly VerifierKey[], rotations: readonly Rotation[]): VerifierKey[] {
  const [first] = listed;
  const keys = first && keyChain(first, rotations);
  if (keys && listed.every((key, index) => keys[index] && vkeyOf(keys[index]) === vkeyOf(key))) return keys;
  throw new AppError(`${path} does not list the keys of this ledger`, {
    code: 'storage',
    hint: 'restore the folder ledger/ from a backup',
  });
}

/** The last of the keys, by which what comes next is signed. `isWaiting`: it is the key to come of a rotation that was killed. */
function findSigner(
  dataDir: string,
  keys: readonly VerifierKey[],
  outside: readonly OutsideSigner[],
): { key: SignerKey; isWaiting: boolean } {
  const last = keys.at(-1);
  if (!last) throw new Error('a list of keys without keys');
  const { name, publicKey } = last;
  const own = outside.find((signer) => signer.publicKey.equals(publicKey));
  if (own) return { key: { name, ...own }, isWaiting: false };
  for (const file of [nextKeyName, signingKeyName]) {
    const seed = readKey(dataDir, file);
    const privateKey = seed && privateKeyOf(seed);
    if (privateKey && publicKeyOf(privateKey).equals(publicKey))
      return { key: { name, privateKey }, isWaiting: file === nextKeyName };
  }
  const place = keyPath(dataDir, signingKeyName);
  throw new AppError(
    outside.length > 0
      ? `neither the signing key of the settings nor ${place} is the key of this ledger`
      : `${place} is not the key of this ledger`,
    {
      code: 'storage',
      hint:
        outside.length > 0
          ? 'give the key that signed it last; docs/operations/signing-key.md says how to hand over to another one'
          : 'restore the folders keys/ and ledger/ from the same backup',
    },
  );
}

/**
 * The record by which the present key hands over to a new one: to the first outside that the ledger has never had, or to one made
 * here where there is none outside. It counts once it is on the ledger. Throws `usage` where all keys outside were used.
 */
export function prepareRotation(dataDir: string, signer: SignerKey, outside: readonly OutsideSigner[]): RotationRecord {
  const used = readListedKeys(publicKeysPath(ledgerFolder(dataDir)));
  const isUsed = (key: Buffer): boolean => used.some(({ publicKey }) => publicKey.equals(key));
  const newKey =
    outside.length === 0
      ? publicKeyOf(privateKeyOf(readOrMakeKey(dataDir, nextKeyName)))
      : outside.map(({ publicKey }) => publicKey).find((key) => !isUsed(key));
  if (!newKey)
    throw usageError(
      'the settings give no key that the ledger has not had',
      'give the next key beside the present one; docs/operations/signing-key.md says how',
    );
  return {
    type: 'key_rotated',
    old_key: verifierOf(signer).publicKey.toString('hex'),
    new_key: newKey.toString('hex'),
    signature: signatureOf(handover(signer.name, newKey), signer).toString('hex'),
  };
}

/** The ledger's first key. The ledger is named after it, so that no other can take its name. */
function makeFirstKey(
  dataDir: string,
  folder: string,
  path: string,
  outside: OutsideSigner | undefined,
): VerifierKey[] {
  refuseLostList(folder, path);
  const publicKey = outside?.publicKey ?? publicKeyOf(privateKeyOf(readOrMakeKey(dataDir, signingKeyName)));
  const key = { name: ledgerName(publicKey), publicKey };
  makeFolder(folder);
  replaceFile(path, vkeyLine(key));
  return [key];
}

function readListedKeys(path: string): VerifierKey[] {
  const keys = readVkeys(readWholeFile(path).toString());
  if (keys) return keys;
  throw new AppError(`${path} is damaged`, { code: 'storage', hint: 'restore the folder ledger/ from a backup' });
}

function vkeyLine(key: VerifierKey): string {
  return `${vkeyOf(key)}\n`;
}
