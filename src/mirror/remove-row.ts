import type { Database } from 'better-sqlite3';
import { refuseStaleHolder } from './lease.ts';
import { rowTables } from './row-table.ts';
import type { AbsenceDataset } from './suspects.ts';

/**
 * Why a row left: the service deleted it, merged it into another, or kept it no longer than it promises; or a request
 * had it erased.
 */
export type DeletionReason = 'deleted' | 'merged' | 'expired' | 'erased';

/**
 * Prepares what takes a row and all that hangs on it out of the mirror, and says so in the feeds. Call it inside a
 * transaction.
 */
export function prepareRemoveRow(
  db: Database,
  dataset: AbsenceDataset,
): (rowKey: number, reason: DeletionReason, at: string, requestId?: string) => void {
  const { keyColumn } = rowTables[dataset];
  const personUuid = dataset === 'persons' ? 'uuid' : 'person_uuid';
  const remove = db.prepare<[number], { key: string; personUuid: string | null }>(
    /*sql*/ `DELETE FROM ${dataset} WHERE row_key = ? RETURNING ${keyColumn} AS key, ${personUuid} AS personUuid`,
  );
  const dependents = [
    /*sql*/ `DELETE FROM ${dataset}_seen WHERE row_key = ?`,
    /*sql*/ `DELETE FROM suspects WHERE dataset = '${dataset}' AND row_key = ?`,
    ...(dataset === 'persons'
      ? [
          /*sql*/ `DELETE FROM distinct_id_owners WHERE person_row_key = ?`,
          /*sql*/ `DELETE FROM distinct_ids_lost WHERE person_row_key = ?`,
        ]
      : []),
  ].map((sql) => db.prepare<[number]>(sql));
  const appendDeletion =
    db.prepare(/*sql*/ `INSERT INTO deletions (dataset, key, person_uuid, reason, deleted_at, request_id)
      VALUES (@dataset, @key, @personUuid, @reason, @at, @requestId)`);
  const appendChange = db.prepare(
    /*sql*/ `INSERT INTO changes (dataset, key, op, at) VALUES (@dataset, @key, 'delete', @at)`,
  );
  return (rowKey, reason, at, requestId) => {
    refuseStaleHolder(db);
    const removed = remove.get(rowKey);
    for (const dependent of dependents) dependent.run(rowKey);
    if (removed === undefined) return;
    appendDeletion.run({ dataset, ...removed, reason, at, requestId: requestId ?? null });
    appendChange.run({ dataset, key: removed.key, at });
  };
}

/**
 * The surrogate keys of the recordings that began before a time and that the newest complete pass did not see: a
 * service may keep some longer than it promises.
 */
export function listExpiredRecordings(db: Database, startTime: string): number[] {
  return db
    .prepare<[string], number>(/*sql*/ `SELECT row_key FROM recordings JOIN recordings_seen USING (row_key)
      WHERE start_time < ? AND pass_id <
        (SELECT max(id) FROM passes WHERE dataset = 'recordings' AND verdict = 'complete')`)
    .pluck()
    .all(startTime);
}
