import type { Database } from 'better-sqlite3';
import { datasets, type PagedDataset } from '../contract/datasets.ts';
import type { Columns } from '../contract/tolerant-reader.ts';
import { columnsOf } from './tables.ts';

/** A row by its key, and as people know it: a person by name and address, a recording by its start and the distinct id. */
export type KnownAs = { key: string; known: string };

/** SQL: how people know a row of a dataset. A person without name and address is known by a distinct id. */
export const knownAs: Readonly<Record<PagedDataset, string>> = {
  persons: /*sql*/ `coalesce(
    nullif(concat_ws(', ', nullif(name, ''), nullif(json_extract(properties, '$.email'), name)), ''),
    json_extract(distinct_ids, '$[0]'), '')`,
  recordings: /*sql*/ `concat_ws(', ', start_time, distinct_id)`,
};

/** Persons by uuid, in that order; none that the mirror does not have. */
export function knownPersons(db: Database, uuids: readonly string[]): KnownAs[] {
  const sql = /*sql*/ `SELECT value AS key, ${knownAs.persons} AS known
    FROM json_each(?) JOIN persons ON uuid = value`;
  return db.prepare<[string], KnownAs>(sql).all(JSON.stringify(uuids));
}

/** Whole rows of the mirror by their keys, in the order of the keys. Integers as bigint. */
export function readRows(db: Database, dataset: PagedDataset, keys: readonly string[]): Columns[] {
  const { key } = datasets[dataset];
  const sql = /*sql*/ `SELECT ${columnsOf(dataset)} FROM ${dataset}
        WHERE ${key} IN (SELECT value FROM json_each(?)) ORDER BY ${key}`;
  return db.prepare<[string], Columns>(sql).safeIntegers().all(JSON.stringify(keys));
}

/** A row of any table as SQLite gives it: integers as bigint, blobs as bytes. */
export type StoredRow = { table: string; columns: readonly string[]; values: readonly unknown[] };

/**
 * Which rows of a table are read: SQL for whether a row may name one of the texts, which `sought` selects; undefined for each row.
 * Texts are bound as values.
 */
export type RowFilter = {
  texts: Iterable<string>;
  where: (table: string, columns: readonly string[], sought: string) => string | undefined;
};

/**
 * Every row of every table, SQLite's own too, streamed; or those that a filter leaves. The connection serves nothing else. Throws
 * SQLite's error.
 */
export function* readEveryRow(db: Database, filter?: RowFilter): Generator<StoredRow> {
  const texts = JSON.stringify([...(filter?.texts ?? [])]);
  const tables = db.prepare<[], string>(/*sql*/ `SELECT name FROM sqlite_schema WHERE type = 'table'`).pluck().all();
  for (const table of ['sqlite_schema', ...tables]) {
    // Whatever columns there are: this looks for what should not be there.
    const sql = /*sql*/ `SELECT * FROM "${table.replaceAll('"', '""')}"`;
    const columns = db
      .prepare(sql)
      .columns()
      .map(({ name }) => name);
    const where = filter?.where(table, columns, /*sql*/ `SELECT value FROM json_each(@texts)`);
    const select = db.prepare<unknown[], unknown[]>(where === undefined ? sql : `${sql} WHERE ${where}`);
    const rows = select.raw().safeIntegers();
    for (const values of where === undefined ? rows.iterate() : rows.iterate({ texts }))
      yield { table, columns, values };
  }
}

const counted = [
  'persons',
  'person_distinct_ids',
  'recordings',
  'playlists',
  'playlist_recordings',
  'quarantine',
] as const;

/** How many rows each table of the mirror holds. */
export type RowCounts = Record<(typeof counted)[number], number>;

/** Counts the rows of the mirror, as one moment shows them. Reads every table: ask `countTable` for one. */
export function countRows(db: Database): RowCounts {
  const columns = counted.map((table) => `(${countOf(table)}) AS ${table}`);
  return db.prepare<[], RowCounts>(/*sql*/ `SELECT ${columns.join(', ')}`).get() as RowCounts;
}

/** Counts the rows of one table. */
export function countTable(db: Database, table: keyof RowCounts): number {
  return db.prepare<[], number>(countOf(table)).pluck().get() ?? 0;
}

function countOf(table: keyof RowCounts): string {
  return /*sql*/ `SELECT count(*) FROM ${table === 'person_distinct_ids' ? 'distinct_id_owners' : table}`;
}
