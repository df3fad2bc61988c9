import type { Database } from 'better-sqlite3';

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
