import type { Database } from 'better-sqlite3';
import type { z } from 'zod';
import { fieldKind } from '../contract/resources.ts';
import type { ColumnValue } from '../contract/tolerant-reader.ts';

/** A table that mirrors one resource of the service. */
export type RowTable = {
  name: 'persons' | 'recordings' | 'playlists';
  /** The service's own key: unique, and never changed. */
  keyColumn: string;
  columns: readonly { name: string; keepsKnownValue: boolean }[];
};

/** What became of a row: its surrogate key, and whether it was new; null when nothing changed. */
export type RowChange = { rowKey: number; isNew: boolean } | null;

/** Derives a table from a contract resource, with columns that the mirror adds. */
export function rowTable(
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

/** Writes one row of a page. */
export type UpsertRow = (row: Readonly<Record<string, ColumnValue>>) => RowChange;

/**
 * Prepares the one statement that writes a row: new rows are added, changed rows replaced, and rows equal in every
 * column left untouched. Begin it anew in each transaction, for that transaction's rows.
 */
export function prepareUpsert(
  db: Database,
  { name, keyColumn, columns }: RowTable,
): (passId: number, at: string) => UpsertRow {
  const names = columns.map((column) => column.name);
  const compared = columns.filter((column) => column.name !== keyColumn);
  const newValue = (column: (typeof columns)[number]): string =>
    column.keepsKnownValue
      ? `coalesce(excluded.${column.name}, ${name}.${column.name})`
      : `excluded.${column.name}`;
  const upsert = db
    .prepare<
      ColumnValue[],
      number
    >(/*sql*/ `INSERT INTO ${name} (${names.join(', ')}, first_seen_pass, changed_at)
        VALUES (${names.map(() => '?').join(', ')}, ?, ?)
        ON CONFLICT (${keyColumn}) DO UPDATE SET
          ${compared.map((column) => `${column.name} = ${newValue(column)}`).join(', ')}, changed_at = excluded.changed_at
        WHERE ${compared.map((column) => `${name}.${column.name} IS NOT ${newValue(column)}`).join(' OR ')}
        RETURNING row_key`)
    .pluck();
  const highestRowKey = db.prepare<[], number | null>(/*sql*/ `SELECT max(row_key) FROM ${name}`).pluck();
  return (passId, at) => {
    let highest = highestRowKey.get() ?? 0;
    return (row) => {
      const rowKey = upsert.get(...names.map((column) => row[column] ?? null), passId, at);
      if (rowKey === undefined) return null;
      const isNew = rowKey > highest;
      if (isNew) highest = rowKey;
      return { rowKey, isNew };
    };
  };
}

/**
 * Prepares the statement that notes which pass saw rows last, for those of the keys that the mirror holds. Returns how
 * many of them the pass had not seen before.
 */
export function prepareMarkSeen(
  db: Database,
  { name, keyColumn }: RowTable,
): (keys: readonly ColumnValue[], passId: number) => number {
  const mark = db.prepare<[number, string]>(/*sql*/ `INSERT INTO ${name}_seen (row_key, pass_id)
      SELECT ${name}.row_key, ? FROM json_each(?) AS keys CROSS JOIN ${name} ON ${name}.${keyColumn} = keys.value WHERE true
      ON CONFLICT (row_key) DO UPDATE SET pass_id = excluded.pass_id WHERE pass_id < excluded.pass_id`);
  return (keys, passId) => mark.run(passId, JSON.stringify(keys)).changes;
}
