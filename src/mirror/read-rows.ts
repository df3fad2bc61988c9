import type { Database } from 'better-sqlite3';
import type { Columns } from '../contract/tolerant-reader.ts';
import { rowTables } from './row-table.ts';

/** Whole rows of the mirror by their keys, in the order of the keys. Integers as bigint. */
export function readRows(
  db: Database,
  dataset: 'persons' | 'recordings',
  keys: readonly string[],
): Columns[] {
  const { keyColumn, columns } = rowTables[dataset];
  const names = columns.map(({ name }) => name).join(', ');
  return db
    .prepare<[string], Columns>(/*sql*/ `SELECT ${names}, changed_at FROM ${dataset}
        WHERE ${keyColumn} IN (SELECT value FROM json_each(?)) ORDER BY ${keyColumn}`)
    .safeIntegers()
    .all(JSON.stringify(keys));
}
