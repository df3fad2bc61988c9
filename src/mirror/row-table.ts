import type { Database } from 'better-sqlite3';
import type { z } from 'zod';
import { fieldKind, Person, Playlist, Recording } from '../contract/resources.ts';
import type { Columns, ColumnValue } from '../contract/tolerant-reader.ts';
import type { Admit } from './fence.ts';

/** A table that mirrors one resource of the service. */
export type RowTable = {
  name: 'persons' | 'recordings' | 'playlists';
  /** The service's own key: unique, and never changed. */
  keyColumn: string;
  columns: readonly { name: string; keepsKnownValue: boolean }[];
};

/** What became of a row, its surrogate key, and the row as it stands now. */
type WrittenRow = { rowKey: number; change: 'added' | 'changed' | 'none'; row: Readonly<Columns> };

/** The mirrored resources. */
export const rowTables = {
  persons: rowTable('persons', 'uuid', Person),
  recordings: rowTable('recordings', 'id', Recording, ['person_uuid']),
  playlists: rowTable('playlists', 'short_id', Playlist),
} as const satisfies Record<RowTable['name'], RowTable>;

/** Derives a table from a contract resource, with columns that the mirror adds. */
function rowTable(
  name: RowTable['name'],
  keyColumn: string,
  resource: z.ZodObject,
  addedColumns: readonly string[] = [],
): RowTable {
  const fields = Object.entries(resource.shape).map(([field, schema]) => ({
    name: field,
    // A list may leave the integer id out that another answer has shown.
    keepsKnownValue: fieldKind(schema) === 'integer_id',
  }));
  const added = [...addedColumns, 'extra'].map((column) => ({ name: column, keepsKnownValue: false }));
  return { name, keyColumn, columns: [...fields, ...added] };
}

/** Writes one row; undefined for one that is kept out. Call it inside a transaction. */
export type WriteRow = (row: Readonly<Columns>, passId: number, at: string) => WrittenRow | undefined;

/**
 * Prepares what writes a row: a new row is added, a changed row replaced, and one equal in every column left untouched.
 * Most rows of most passes are equal, so those cost one look-up that compares in SQLite, and nothing else: what is in the
 * mirror has been held against the fence. `admit` is asked for every other row, and tells what may be written of it.
 */
export function prepareWriteRow(
  db: Database,
  { name, keyColumn, columns }: RowTable,
  admit?: Admit<Readonly<Columns>>,
): WriteRow {
  const written = columns.filter((column) => column.name !== keyColumn);
  const names = written.map((column) => column.name);
  const newValue = (column: (typeof columns)[number]): string =>
    column.keepsKnownValue ? `coalesce(?, ${column.name})` : '?';
  const find = db
    .prepare<
      ColumnValue[],
      [rowKey: number, isEqual: 0 | 1]
    >(/*sql*/ `SELECT row_key, ${written.map((column) => `${column.name} IS ${newValue(column)}`).join(' AND ')}
        FROM ${name} WHERE ${keyColumn} = ?`)
    .raw();
  const add = db.prepare<
    ColumnValue[]
  >(/*sql*/ `INSERT INTO ${name} (${names.join(', ')}, ${keyColumn}, first_seen_pass, changed_at)
      VALUES (${names.map(() => '?').join(', ')}, ?, ?, ?)`);
  const replace = db.prepare<
    ColumnValue[]
  >(/*sql*/ `UPDATE ${name} SET ${written.map((column) => `${column.name} = ${newValue(column)}`).join(', ')}, changed_at = ?
      WHERE row_key = ?`);
  const write = (
    row: Readonly<Columns>,
    passId: number,
    at: string,
    isAdmitted: boolean,
  ): WrittenRow | undefined => {
    const key = row[keyColumn] ?? null;
    const values = names.map((column) => row[column] ?? null);
    const found = find.get(...values, key);
    if (found?.[1] === 1) return { rowKey: found[0], change: 'none', row };
    if (!isAdmitted && admit) {
      const admitted = admit(row, at);
      return admitted && write(admitted, passId, at, true);
    }
    if (found) {
      replace.run(...values, at, found[0]);
      return { rowKey: found[0], change: 'changed', row };
    }
    const { lastInsertRowid } = add.run(...values, key, passId, at);
    return { rowKey: Number(lastInsertRowid), change: 'added', row };
  };
  return (row, passId, at) => write(row, passId, at, false);
}

/** Prepares the look-up of a row's surrogate key; undefined when the mirror does not hold the row. */
export function prepareFindRowKey(
  db: Database,
  { name, keyColumn }: RowTable,
): (key: string) => number | undefined {
  const find = db
    .prepare<[string], number>(/*sql*/ `SELECT row_key FROM ${name} WHERE ${keyColumn} = ?`)
    .pluck();
  return (key) => find.get(key);
}

/**
 * Prepares the statement that notes which pass saw rows last, by their surrogate keys. Returns how many of them the
 * pass had not seen before.
 */
export function prepareMarkSeen(
  db: Database,
  { name }: RowTable,
): (rowKeys: readonly number[], passId: number) => number {
  const mark = db.prepare<[number, string]>(/*sql*/ `INSERT INTO ${name}_seen (row_key, pass_id)
      SELECT value, ? FROM json_each(?) WHERE true
      ON CONFLICT (row_key) DO UPDATE SET pass_id = excluded.pass_id WHERE pass_id < excluded.pass_id`);
  return (rowKeys, passId) => mark.run(passId, JSON.stringify(rowKeys)).changes;
}
