import { readdirSync, readFileSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { AppError } from '../core/errors.ts';
import { sha256 } from '../core/digest.ts';
import { transact } from './transact.ts';

type Migration = { version: number; name: string; sql: string; digest: string };

const folder = new URL('./migrations/', import.meta.url);

/** `PRAGMA application_id` of a mirror: the letters "amir". SQLite keeps it in the file, at byte 68 (its file format, 1.3). */
const applicationId = 0x61_6d_69_72;

/** The migrations that a database lacks. Throws `storage` for another program's, a newer or a changed database. */
export function pendingMigrations(db: Database): readonly Migration[] {
  const own = readMigrations();
  const isEmpty = db.prepare(/*sql*/ `SELECT count(*) FROM sqlite_schema`).pluck().get() === 0;
  if (isEmpty) return own;
  if (db.pragma('application_id', { simple: true }) !== applicationId)
    throw new AppError('mirror.db belongs to another program', {
      code: 'storage',
      hint: 'set dataDir (MIRROR_DATA_DIR) to a folder of its own',
    });
  const sql = /*sql*/ `SELECT version, name, digest FROM schema_migrations ORDER BY version`;
  const applied = db.prepare<[], Migration>(sql).all();
  for (const { version, digest } of applied) {
    const known = own.find((migration) => migration.version === version);
    if (!known)
      throw new AppError('mirror.db was written by a newer version of analytics-mirror', {
        code: 'storage',
        hint: 'update the program, and restart its worker; an older one cannot read it safely',
      });
    if (known.digest !== digest)
      throw new AppError(`mirror.db was made by another build (migration ${known.name} differs)`, {
        code: 'storage',
        hint: 'use the build that made it, or start with an empty data folder',
      });
  }
  return own.slice(applied.length);
}

/** The version of the schema that this program writes: a project that a newer one has written cannot be taken. */
export function schemaVersion(): number {
  return readMigrations().length;
}

/** Brings a database to this program's schema, in one transaction. Throws what `pendingMigrations` throws. */
export function migrate(db: Database, at: string): void {
  if (pendingMigrations(db).length === 0) return;
  transact(db, () => {
    db.exec(/*sql*/ `CREATE TABLE IF NOT EXISTS schema_migrations
      (version INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT`);
    db.pragma(`application_id = ${applicationId}`);
    const record = db.prepare(
      /*sql*/ `INSERT INTO schema_migrations (version, name, digest, applied_at) VALUES (?, ?, ?, ?)`,
    );
    for (const { version, name, sql, digest } of pendingMigrations(db)) {
      db.exec(sql);
      record.run(version, name, digest, at);
    }
  });
}

let migrations: readonly Migration[] | undefined;

/** The migrations of this program, in their order. They are read once. */
function readMigrations(): readonly Migration[] {
  return (migrations ??= readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
    .map((name) => {
      const sql = readFileSync(new URL(name, folder), 'utf8');
      return { version: Number.parseInt(name, 10), name, sql, digest: sha256(sql) };
    }));
}
