import { existsSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { replaceFile, syncToDisk } from '../core/atomic-file.ts';
import { AppError } from '../core/errors.ts';
import { makeFolder, readWholeFile } from '../core/folder.ts';
import { keyPath, readKey, readOrMakeKey } from '../core/secret-key.ts';
import { listCheckpointFiles, publicKeysPath } from './checkpoint.ts';
import { ledgerFolder } from './entry-file.ts';
import { handover, ledgerName, readVkeys } from './key-chain.ts';
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
 * its first use where there is none outside. `rotated` is the newest rotation on the ledger: one that was killed halfway is
 * brought to its end. Throws `storage` when the key is lost, or is not the ledger's.
 */
export function signingKey(
  dataDir: string,
  rotated: RotationRecord | undefined,
  outside: readonly OutsideSigner[] = [],
): SignerKey {
  const folder = ledgerFolder(dataDir);
  const path = publicKeysPath(folder);
  const listed = existsSync(path) ? readListedKeys(path) : makeFirstKey(dataDir, folder, path, outside[0]);
  const last = listed.at(-1);
  if (!last) throw new Error('a list of keys without keys');
  const publicKey = rotated ? Buffer.from(rotated.new_key, 'hex') : last.publicKey;
  const current = { name: last.name, publicKey };
  if (vkeyOf(current) !== vkeyOf(last)) replaceFile(path, [...listed, current].map(vkeyLine).join(''));
  const own = outside.find((signer) => signer.publicKey.equals(publicKey));
  if (own) return { name: last.name, ...own };
  const waiting = readKey(dataDir, nextKeyName);
  if (waiting && publicKeyOf(privateKeyOf(waiting)).equals(publicKey)) {
    renameSync(keyPath(dataDir, nextKeyName), keyPath(dataDir, signingKeyName));
    syncToDisk(dirname(keyPath(dataDir, signingKeyName)));
  }
  const seed = readKey(dataDir, signingKeyName);
  const privateKey = seed && privateKeyOf(seed);
  if (!privateKey || !publicKeyOf(privateKey).equals(publicKey))
    throw new AppError(
      outside.length > 0
        ? `neither the signing key of the settings nor ${keyPath(dataDir, signingKeyName)} is the key of this ledger`
        : `${keyPath(dataDir, signingKeyName)} is not the key of this ledger`,
      {
        code: 'storage',
        hint:
          outside.length > 0
            ? 'give the key that signed it last; docs/operations/signing-key.md says how to hand over to another one'
            : 'restore the folders keys/ and ledger/ from the same backup',
      },
    );
  return { name: last.name, privateKey };
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
    throw new AppError('the settings give no key that the ledger has not had', {
      code: 'usage',
      hint: 'give the next key beside the present one; docs/operations/signing-key.md says how',
    });
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
  if (listCheckpointFiles(folder).length > 0)
    throw new AppError(`${path} is missing`, { code: 'storage', hint: 'restore the folder ledger/ from a backup' });
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
