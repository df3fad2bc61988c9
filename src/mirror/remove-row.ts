import type { Database } from 'better-sqlite3';
import type { AbsenceDataset } from './suspects.ts';

/** Why a row left: the service deleted it, merged it into another, or kept it no longer than it promises. */
export type DeletionReason = 'deleted' | 'merged' | 'expired';

/** Takes a row and all that hangs on it out of the mirror, and says so in the feeds. One transaction. */
export function removeRow(
  db: Database,
  dataset: AbsenceDataset,
  rowKey: number,
  reason: DeletionReason,
  at: string,
): void {
  const keyColumn = dataset === 'persons' ? 'uuid' : 'id';
  db.transaction(() => {
    const key = db
      .prepare<[number], string>(/*sql*/ `DELETE FROM ${dataset} WHERE row_key = ? RETURNING ${keyColumn}`)
      .pluck()
      .get(rowKey);
    db.prepare(/*sql*/ `DELETE FROM ${dataset}_seen WHERE row_key = ?`).run(rowKey);
    db.prepare(/*sql*/ `DELETE FROM suspects WHERE dataset = ? AND row_key = ?`).run(dataset, rowKey);
    if (dataset === 'persons') {
      db.prepare(/*sql*/ `DELETE FROM distinct_id_owners WHERE person_row_key = ?`).run(rowKey);
      db.prepare(/*sql*/ `DELETE FROM distinct_ids_lost WHERE person_row_key = ?`).run(rowKey);
    }
    if (key === undefined) return;
    db.prepare(/*sql*/ `INSERT INTO deletions (dataset, key, reason, deleted_at) VALUES (?, ?, ?, ?)`).run(
      dataset,
      key,
      reason,
      at,
    );
    db.prepare(/*sql*/ `INSERT INTO changes (dataset, key, op, at) VALUES (?, ?, 'delete', ?)`).run(
      dataset,
      key,
      at,
    );
  }).immediate();
}

/** The recordings that began before a time: those that the service no longer keeps. */
export function listRecordingsBefore(db: Database, startTime: string): number[] {
  return db
    .prepare<[string], number>(/*sql*/ `SELECT row_key FROM recordings WHERE start_time < ?`)
    .pluck()
    .all(startTime);
}
