import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { AppError, systemCode } from '../core/errors.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { isWritable, makeFolder, refuseOpenFolder, temporaryFolder } from '../core/folder.ts';
import { readKey, readOrMakeKey, textEncryption } from '../core/secret-key.ts';
import { explainStorageError } from '../core/storage-error.ts';
import { entriesPath, ledgerFolder } from '../ledger/entry-file.ts';
import { addFenceMac, fenceMacUnder } from './fence-mac.ts';
import { boxKeyName, fenceKeyName, refuseLostFenceKey } from './fence.ts';
import { keepRestoreKey } from './restore-key.ts';
import { migrate, pendingMigrations } from './migrate.ts';

export type { Database } from 'better-sqlite3';

/** How long a statement waits for another process's transaction. */
const busyTimeoutMs = 10_000;
/** A page of a sync touches a page of the file for each random key, and all of those are written: small ones cost less. */
const pageBytes = 4096;
/** Pages of the write-ahead log between checkpoints: rarer ones write fewer pages twice. */
const checkpointPages = 32_000;
/** The bytes of the write-ahead log that are kept for the next writes once it has been written back. */
export const logBytesKept = checkpointPages * pageBytes;

/** The mirror's file below the data folder. */
export function databasePath(dataDir: string): string {
  return join(dataDir, 'mirror.db');
}

/** Opens the mirror for writing, makes what is missing (0700, 0600), and migrates it. Throws `storage` with the fix. */
export function openDatabase(dataDir: string, clock: Clock): Database & Disposable {
  const makeFile = (path: string): void => {
    makeFolder(dataDir);
    if (!statSync(dataDir).isDirectory()) throw notAFolder(dataDir);
    refuseOpenFolder(dataDir);
    // By closing the file, this process would lose the locks of its other connections.
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  };
  return open(dataDir, makeFile, {}, (db) => {
    // Before the first pragma, which would change another program's file.
    pendingMigrations(db);
    distrustSchema(db);
    db.pragma(`page_size = ${pageBytes}`);
    useLog(db);
    db.pragma('synchronous = FULL');
    db.pragma('secure_delete = ON');
    db.pragma(`wal_autocheckpoint = ${checkpointPages}`);
    db.pragma(`journal_size_limit = ${logBytesKept}`);
    makeFolder(temporaryFolder(dataDir));
    keepTemporaryFiles(db, dataDir);
    const mac = fenceMacUnder(() => readOrMakeKey(dataDir, fenceKeyName));
    addFenceMac(db, mac);
    db.function('encrypt_text', { directOnly: true }, (about, text) =>
      textEncryption(dataDir, boxKeyName)(String(about), String(text)),
    );
    migrate(db, isoTime(clock.now()));
    refuseLostFenceKey(db, dataDir);
    keepRestoreKey(db, dataDir);
  });
}

/** What to do where the mirror is missing beside its ledger. */
export const lostMirrorHint =
  'put it back; if it is lost, run `analytics-mirror reconcile`, which makes one that knows the erased persons, then `sync`';

/**
 * Opens an existing mirror for reading only. A thread beside others leaves their temporary folder as it is. A statement of a
 * user gets no MACs, so that no guess can be held against the fence. Throws a `storage` error when there is none that this
 * program can read.
 */
export function openDatabaseReadOnly(
  dataDir: string,
  reader: 'alone' | 'beside others' | 'user' = 'alone',
): Database & Disposable {
  const findFile = (path: string): void => {
    if (existsSync(dataDir) && !statSync(dataDir).isDirectory()) throw notAFolder(dataDir);
    if (!existsSync(path)) {
      // A ledger grows beside a mirror only.
      const isLost = existsSync(entriesPath(ledgerFolder(dataDir)));
      throw new AppError(`${isLost ? 'mirror.db is missing' : 'there is no mirror yet'}: ${resolve(path)}`, {
        code: 'storage',
        hint: isLost ? lostMirrorHint : 'run `analytics-mirror sync` first, or set dataDir (MIRROR_DATA_DIR)',
      });
    }
    refuseOpenFolder(dataDir);
  };
  return open(dataDir, findFile, { readonly: true }, (db) => {
    distrustSchema(db);
    if (pendingMigrations(db).length > 0)
      throw new AppError(`the mirror lacks tables of this program: ${db.name}`, {
        code: 'storage',
        hint: 'the next command that writes, such as `analytics-mirror sync`, makes them',
      });
    if (reader !== 'beside others' && isWritable(temporaryFolder(dataDir))) keepTemporaryFiles(db, dataDir);
    if (reader === 'user') return;
    const mac = fenceMacUnder(() => readKey(dataDir, fenceKeyName));
    addFenceMac(db, mac);
  });
}

/** When the mirror of a folder was made, which all copies of it say; undefined where that cannot be read. */
export function mirrorMadeAt(dataDir: string): string | undefined {
  let db: Database | undefined;
  try {
    db = new Sqlite(databasePath(dataDir), { readonly: true });
    return db.prepare<[], string>(/*sql*/ `SELECT min(applied_at) FROM schema_migrations`).pluck().get();
  } catch {
    return undefined;
  } finally {
    db?.close();
  }
}

const [logTries, logWaitMs] = [200, 50];

/**
 * Gives a file a write-ahead log. While several processes begin in a fresh folder, SQLite refuses that to some of them at once, without
 * the wait of other statements.
 */
function useLog(db: Database): void {
  for (let tries = 1; ; tries += 1)
    try {
      db.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      if (systemCode(error) !== 'SQLITE_BUSY' || tries === logTries) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, logWaitMs);
    }
}

/** Lets no view or trigger that a file may bring along call a function that reaches beyond SQL. */
function distrustSchema(db: Database): void {
  db.pragma('trusted_schema = OFF');
}

/** Opens the mirror's file and prepares the connection; it is closed where that fails. Explains errors of the disk. */
function open(
  dataDir: string,
  before: (path: string) => void,
  options: { readonly?: true },
  prepare: (db: Database) => void,
): Database & Disposable {
  let db: Database | undefined;
  try {
    before(databasePath(dataDir));
    db = new Sqlite(databasePath(dataDir), { ...options, timeout: busyTimeoutMs });
    openedFiles.set(db, fileAt(db.name));
    prepare(db);
    return Object.assign(db, { [Symbol.dispose]: () => void db?.close() });
  } catch (error) {
    db?.close();
    throw explainStorageError(error, dataDir) ?? error;
  }
}

/** Which file each connection has opened. */
const openedFiles = new WeakMap<Database, string | undefined>();

function fileAt(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev} ${stat.ino}`;
}

/**
 * Throws `storage` where the file of a connection no longer stands at its path: nobody else would see what is written. Throws it too where
 * a newer version has changed its tables meanwhile: a worker goes on for weeks.
 */
export function refuseReplaced(db: Database): void {
  if ([undefined, fileAt(db.name)].includes(openedFiles.get(db))) return void pendingMigrations(db);
  throw new AppError(`mirror.db was replaced or removed while it was in use: ${dirname(db.name)}`, {
    code: 'storage',
    hint: 'restart the worker, so that it opens what stands there now; stop it before a folder is moved or restored',
  });
}

/** Keeps SQLite's temporary files in the data folder, not on another disk or in memory. For the whole process. */
export function keepTemporaryFiles(db: Database, dataDir: string): void {
  db.pragma(`temp_store_directory = '${temporaryFolder(dataDir).replaceAll("'", "''")}'`);
}

function notAFolder(dataDir: string): AppError {
  return new AppError(`the data folder is a file: ${dataDir}`, {
    code: 'storage',
    hint: 'set dataDir (MIRROR_DATA_DIR) to a folder, or to a path where one can be made',
  });
}
