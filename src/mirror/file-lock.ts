import { closeSync, existsSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { AppError, systemCode } from '../core/errors.ts';
import { makeFolder } from '../core/folder.ts';
import { explainStorageError } from '../core/storage-error.ts';

/**
 * Locks a file (0600, made where it is missing) until it is disposed of or this process ends, however it ends. Undefined while another
 * connection, of this process or another one, has it for longer than `waitMs`. The file stays empty: SQLite is what Node has to ask
 * for the system's lock. Nothing else of this process may open the file: by closing it, the process would lose the lock. Throws `storage`.
 */
export function lockFile(path: string, waitMs = 0): Disposable | undefined {
  let db: Database | undefined;
  try {
    makeFolder(dirname(path));
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
    db = new Sqlite(path, { timeout: waitMs });
    db.pragma('journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db?.close();
    if (systemCode(error) === 'SQLITE_BUSY') return undefined;
    throw explained(error, path);
  }
  const locked = db;
  return { [Symbol.dispose]: () => void locked.close() };
}

/** Whether somebody has locked a file. The look takes a moment, in which `lockFile` has to wait. Throws `storage`. */
export function isLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  let db: Database | undefined;
  try {
    db = new Sqlite(path, { readonly: true, timeout: 0 });
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (systemCode(error) === 'SQLITE_BUSY') return true;
    throw explained(error, path);
  } finally {
    db?.close();
  }
}

function explained(error: unknown, path: string): unknown {
  const isOther = ['SQLITE_NOTADB', 'SQLITE_CANTOPEN'].includes(systemCode(error) ?? '') && existsSync(path);
  if (!isOther) return explainStorageError(error, dirname(path)) ?? error;
  return new AppError(`${path} is not the empty file whose lock this program takes`, {
    code: 'storage',
    hint: 'remove it while no run is under way; the next run makes it',
  });
}
