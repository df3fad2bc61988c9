import type { Database } from 'better-sqlite3';
import type { Columns } from '../contract/tolerant-reader.ts';
import { readEpoch } from './erasure-epoch.ts';
import { lastJudgedPass, type PassDataset } from './passes.ts';
import { rowTables } from './row-table.ts';

/** The datasets that are published, and the list whose pass vouches for each. */
const sources = {
  persons: { list: 'persons', sql: rowsByKey('persons') },
  recordings: { list: 'recordings', sql: rowsByKey('recordings') },
  distinct_ids: {
    list: 'persons',
    sql: /*sql*/ `SELECT distinct_id, person_uuid FROM person_distinct_ids ORDER BY distinct_id`,
  },
  deletions: {
    list: 'persons',
    sql: /*sql*/ `SELECT key, dataset, person_uuid, reason, deleted_at, request_id FROM deletions
      WHERE seq IN (SELECT max(seq) FROM deletions GROUP BY key) ORDER BY key`,
  },
} as const satisfies Record<string, { list: PassDataset; sql: string }>;

export type PublishedDataset = keyof typeof sources;

/** What a snapshot is made of: all of it as one moment of the mirror shows it. */
export type SnapshotSource = {
  /** The pass that vouches for the rows; null when none has ended yet. */
  pass: { id: number; verdict: 'complete' | 'incomplete'; finished_at: string } | null;
  /** The epoch of the fence that the rows have passed. */
  erasureEpoch: number;
  rowCount: number;
  /** Rows in the byte order of their key, integers as bigint, streamed: to be read once. */
  rows: IterableIterator<Columns>;
};

/**
 * Reads a dataset in one read transaction, which lasts until `use` settles. The connection serves nothing else
 * meanwhile, so it should be one of its own.
 */
export async function withSnapshotSource<T>(
  db: Database,
  dataset: PublishedDataset,
  use: (source: SnapshotSource) => Promise<T>,
): Promise<T> {
  const { list, sql } = sources[dataset];
  db.exec(/*sql*/ `BEGIN`);
  try {
    const pass = lastJudgedPass(db, list);
    const erasureEpoch = readEpoch(db);
    const rowCount = db.prepare<[], number>(/*sql*/ `SELECT count(*) FROM (${sql})`).pluck().get() ?? 0;
    const rows = db.prepare<[], Columns>(sql).safeIntegers().iterate();
    try {
      return await use({
        pass:
          pass?.verdict && pass.finished_at
            ? { id: pass.id, verdict: pass.verdict, finished_at: pass.finished_at }
            : null,
        erasureEpoch,
        rowCount,
        rows,
      });
    } finally {
      rows.return?.();
    }
  } finally {
    db.exec(/*sql*/ `COMMIT`);
  }
}

function rowsByKey(dataset: 'persons' | 'recordings'): string {
  const { keyColumn, columns } = rowTables[dataset];
  const names = columns.map(({ name }) => name).join(', ');
  return /*sql*/ `SELECT ${names}, changed_at FROM ${dataset} ORDER BY ${keyColumn}`;
}
