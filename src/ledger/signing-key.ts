import { existsSync, readFileSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { replaceFile, syncToDisk } from '../core/atomic-file.ts';
import { AppError } from '../core/errors.ts';
import { makeFolder } from '../core/folder.ts';
import { keyPath, readKey, readOrMakeKey } from '../core/secret-key.ts';
import { listCheckpointFiles, publicKeysPath } from './checkpoint.ts';
import { ledgerFolder } from './entry-file.ts';
import { handover, ledgerName, readVkeys } from './key-chain.ts';
import { privateKeyOf, publicKeyOf, signBytes, vkeyOf, type SignerKey, type VerifierKey } from './note.ts';
import type { LedgerRecord } from './record.ts';

const keyName = 'ledger.key';
/** The key to come, until the ledger has it. */
const nextKeyName = 'ledger.key.next';

type RotationRecord = Extract<LedgerRecord, { type: 'key_rotated' }>;

/**
 * The key that signs the ledger's checkpoints now, made at its first use. `rotated` is the newest rotation on the ledger:
 * one that was killed halfway is brought to its end. Throws `storage` when the key is lost, or is not the ledger's.
 */
export function signingKey(dataDir: string, rotated: RotationRecord | undefined): SignerKey {
  const folder = ledgerFolder(dataDir);
  const path = publicKeysPath(folder);
  const listed = existsSync(path) ? readListedKeys(path) : makeFirstKey(dataDir, folder, path);
  const last = listed.at(-1);
  if (!last) throw new Error('a list of keys without keys');
  const publicKey = rotated ? Buffer.from(rotated.new_key, 'hex') : last.publicKey;
  const current = { name: last.name, publicKey };
  if (vkeyOf(current) !== vkeyOf(last)) replaceFile(path, [...listed, current].map(vkeyLine).join(''));
  const waiting = readKey(dataDir, nextKeyName);
  if (waiting && publicKeyOf(privateKeyOf(waiting)).equals(publicKey)) {
    renameSync(keyPath(dataDir, nextKeyName), keyPath(dataDir, keyName));
    syncToDisk(dirname(keyPath(dataDir, keyName)));
  }
  const seed = readKey(dataDir, keyName);
  const privateKey = seed && privateKeyOf(seed);
  if (!privateKey || !publicKeyOf(privateKey).equals(publicKey))
    throw new AppError(`${keyPath(dataDir, keyName)} is not the key of this ledger`, {
      code: 'storage',
      hint: 'restore the folders keys/ and ledger/ from the same backup',
    });
  return { name: last.name, privateKey };
}

/** A new key, and the record by which the present one hands over to it. It counts once that record is on the ledger. */
export function prepareRotation(dataDir: string, { name, privateKey }: SignerKey): RotationRecord {
  const newKey = publicKeyOf(privateKeyOf(readOrMakeKey(dataDir, nextKeyName)));
  return {
    type: 'key_rotated',
    old_key: publicKeyOf(privateKey).toString('hex'),
    new_key: newKey.toString('hex'),
    signature: signBytes(handover(name, newKey), privateKey).toString('hex'),
  };
}

/** The ledger's first key. The ledger is named after it, so that no other can take its name. */
function makeFirstKey(dataDir: string, folder: string, path: string): VerifierKey[] {
  if (listCheckpointFiles(folder).length > 0)
    throw new AppError(`${path} is missing`, { code: 'storage', hint: 'restore the folder ledger/ from a backup' });
  const publicKey = publicKeyOf(privateKeyOf(readOrMakeKey(dataDir, keyName)));
  const key = { name: ledgerName(publicKey), publicKey };
  makeFolder(folder);
  replaceFile(path, vkeyLine(key));
  return [key];
}

function readListedKeys(path: string): VerifierKey[] {
  const keys = readVkeys(readFileSync(path, 'utf8'));
  if (keys) return keys;
  throw new AppError(`${path} is damaged`, { code: 'storage', hint: 'restore the folder ledger/ from a backup' });
}

function vkeyLine(key: VerifierKey): string {
  return `${vkeyOf(key)}\n`;
}
