import type { Database } from 'better-sqlite3';
import type { Columns } from '../contract/tolerant-reader.ts';
import { hasChange, newestChange, type ChangePosition } from './changes.ts';
import { readEpoch } from './erasure-epoch.ts';
import { lastJudgedPass, type PassDataset } from './passes.ts';
import { rowTables } from './row-table.ts';

/**
 * The datasets that are published, the list whose pass vouches for each, and what is read since a change. Of rows that
 * leave `distinct_ids` and `deletions`, no feed tells: they are read as a whole.
 */
const sources = {
  persons: {
    list: 'persons',
    sql: rowsByKey('persons'),
    changedSql: rowsByKey('persons', isChanged('persons')),
  },
  recordings: {
    list: 'recordings',
    sql: rowsByKey('recordings'),
    changedSql: rowsByKey('recordings', isChanged('recordings')),
  },
  distinct_ids: {
    list: 'persons',
    changedSql: undefined,
    sql: /*sql*/ `SELECT distinct_id, person_uuid FROM person_distinct_ids ORDER BY distinct_id`,
  },
  deletions: {
    list: 'persons',
    changedSql: undefined,
    sql: /*sql*/ `SELECT key, dataset, person_uuid, reason, deleted_at, request_id FROM deletions
      WHERE seq IN (SELECT max(seq) FROM deletions GROUP BY dataset, key) ORDER BY key, dataset`,
  },
} as const satisfies Record<string, { list: PassDataset; sql: string; changedSql: string | undefined }>;

export type PublishedDataset = keyof typeof sources;

/** What a snapshot is made of: all of it as one moment of the mirror shows it. */
export type SnapshotSource = {
  /** The pass that vouches for the rows; null when none has ended yet. */
  pass: { id: number; verdict: 'complete' | 'incomplete'; finished_at: string } | null;
  /** The epoch of the fence that the rows have passed. */
  erasureEpoch: number;
  /** Whether the rows are those that were added or changed since the change that was asked for, or all. */
  kind: 'full' | 'delta';
  /** The newest change that the rows show; null before the first. */
  changes: ChangePosition | null;
  rowCount: number;
  /** Rows in the byte order of their key, integers as bigint, streamed: to be read once. */
  rows: IterableIterator<Columns>;
};

/**
 * Reads a dataset in one read transaction, which lasts until `use` settles: what has changed since `since`, or all where
 * that is null, or not to be told. The connection serves nothing else meanwhile, so it should be one of its own.
 */
export async function withSnapshotSource<T>(
  db: Database,
  dataset: PublishedDataset,
  since: ChangePosition | null,
  use: (source: SnapshotSource) => Promise<T>,
): Promise<T> {
  const { list, sql: fullSql, changedSql } = sources[dataset];
  db.exec(/*sql*/ `BEGIN`);
  try {
    const pass = lastJudgedPass(db, list);
    const erasureEpoch = readEpoch(db);
    const isDelta = changedSql !== undefined && since !== null && hasChange(db, since);
    const sql = isDelta ? changedSql : fullSql;
    const parameters = isDelta ? [since.seq] : [];
    const rowCount =
      db
        .prepare<number[], number>(/*sql*/ `SELECT count(*) FROM (${sql})`)
        .pluck()
        .get(...parameters) ?? 0;
    const rows = db
      .prepare<number[], Columns>(sql)
      .safeIntegers()
      .iterate(...parameters);
    try {
      return await use({
        pass:
          pass?.verdict && pass.finished_at
            ? { id: pass.id, verdict: pass.verdict, finished_at: pass.finished_at }
            : null,
        erasureEpoch,
        kind: isDelta ? 'delta' : 'full',
        changes: newestChange(db),
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

function rowsByKey(dataset: 'persons' | 'recordings', condition = ''): string {
  const { keyColumn, columns } = rowTables[dataset];
  const names = columns.map(({ name }) => name).join(', ');
  return /*sql*/ `SELECT ${names}, changed_at FROM ${dataset} ${condition} ORDER BY ${keyColumn}`;
}

function isChanged(dataset: 'persons' | 'recordings'): string {
  const { keyColumn } = rowTables[dataset];
  return /*sql*/ `WHERE ${keyColumn} IN (SELECT key FROM changes WHERE dataset = '${dataset}' AND seq > ?)`;
}
