import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { systemCode } from '../core/errors.ts';
import { makeFolder } from '../core/folder.ts';
import { explainStorageError } from '../core/storage-error.ts';

/**
 * Locks a file (0600, made where it is missing) until it is disposed of or this process ends, however it ends. Undefined while another
 * process of this machine has it. The file stays empty: SQLite is what Node has to ask for the system's lock. Throws `storage`.
 */
export function lockFile(path: string): Disposable | undefined {
  let db: Database | undefined;
  try {
    makeFolder(dirname(path));
    closeSync(openSync(path, 'a', 0o600));
    db = new Sqlite(path, { timeout: 0 });
    db.pragma('journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db?.close();
    if (systemCode(error) === 'SQLITE_BUSY') return undefined;
    throw explainStorageError(error, dirname(path)) ?? error;
  }
  const locked = db;
  return { [Symbol.dispose]: () => void locked.close() };
}
