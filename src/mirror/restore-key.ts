import { existsSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { createFile } from '../core/atomic-file.ts';
import { keyPath, readOrMakeKey, textDecryption, textEncryption } from '../core/secret-key.ts';
import { fenceKeyName } from './fence.ts';

/**
 * The name of the key under which the ledger has the fence's MACs. It lies beside `keys/` and not in it: a copy of
 * `keys/` and `ledger/` alone lets its holder test no identifier.
 */
export const restoreKeyName = '../restore.key';

/** The restore key, made at its first use. Call it for a mirror that is open for writing. */
export function makeRestoreKey(db: Database, dataDir: string): Buffer {
  const key = readOrMakeKey(dataDir, restoreKeyName);
  keepRestoreKey(db, dataDir);
  return key;
}

/**
 * Keeps the restore key twice, in its file and, encrypted under the fence's key, in the mirror, so that it is lost only with
 * both: brings back the one that is missing.
 */
export function keepRestoreKey(db: Database, dataDir: string): void {
  if (!existsSync(keyPath(dataDir, fenceKeyName))) return;
  const stored = db.prepare<[], Buffer>(/*sql*/ `SELECT encrypted FROM restore_key`).pluck().get();
  const path = keyPath(dataDir, restoreKeyName);
  const text = stored && openStored(dataDir, stored);
  if (text !== undefined && !existsSync(path)) createFile(path, `${text}\n`);
  if (stored || !existsSync(path)) return;
  const key = readOrMakeKey(dataDir, restoreKeyName).toString('hex');
  const add = db.prepare(/*sql*/ `INSERT INTO restore_key (encrypted) VALUES (?)`);
  add.run(textEncryption(dataDir, fenceKeyName)(about, key));
}

const about = 'restore key';

/** Undefined where the fence's key is another one: the ledger tells that. */
function openStored(dataDir: string, stored: Buffer): string | undefined {
  try {
    return textDecryption(dataDir, fenceKeyName)(about, stored);
  } catch {
    return undefined;
  }
}
