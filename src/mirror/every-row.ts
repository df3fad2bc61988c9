import type { Database } from 'better-sqlite3';

/** A row of any table as SQLite gives it: integers as bigint, blobs as bytes. */
export type StoredRow = { table: string; columns: readonly string[]; values: readonly unknown[] };

/**
 * Every row of every table, those that SQLite keeps for itself (the schema, statistics) included, streamed. The
 * connection serves nothing else meanwhile. Throws SQLite's own errors.
 */
export function* readEveryRow(db: Database): Generator<StoredRow> {
  const tables = db
    .prepare<[], string>(/*sql*/ `SELECT name FROM sqlite_schema WHERE type = 'table'`)
    .pluck()
    .all();
  for (const table of ['sqlite_schema', ...tables]) {
    // Whatever columns there are: this looks for what should not be there.
    const statement = db
      .prepare<[], unknown[]>(/*sql*/ `SELECT * FROM "${table.replaceAll('"', '""')}"`)
      .raw()
      .safeIntegers();
    const columns = statement.columns().map(({ name }) => name);
    for (const values of statement.iterate()) yield { table, columns, values };
  }
}
