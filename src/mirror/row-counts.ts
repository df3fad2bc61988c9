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

/** Counts the rows of the mirror, as one moment shows them. */
export function countRows(db: Database): RowCounts {
  const columns = counted.map(
    (table) =>
      `(SELECT count(*) FROM ${table === 'person_distinct_ids' ? 'distinct_id_owners' : table}) AS ${table}`,
  );
  return db.prepare<[], RowCounts>(/*sql*/ `SELECT ${columns.join(', ')}`).get() as RowCounts;
}
