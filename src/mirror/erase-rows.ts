import type { Database } from 'better-sqlite3';
import { textLeaves } from '../core/exact-json.ts';
import { identifierKinds, type Identity } from '../contract/identity.ts';
import { markPurgeOwed } from './purge-owed.ts';
import { prepareRemoveRow } from './remove-row.ts';
import { prepareFindRowKey, rowTables } from './row-table.ts';
import type { QuarantinedSighting } from './sightings.ts';

/**
 * Prepares what takes everything of an identity out of the mirror's tables, within the transaction that fences it. What
 * the file then still holds of it is for the purge. Returns how many rows of persons and recordings went.
 */
export function prepareEraseRows(
  db: Database,
): (
  requestId: string,
  identity: Identity,
  quarantined: readonly Pick<QuarantinedSighting, 'dataset' | 'rowId'>[],
  at: string,
) => number {
  const datasets = [
    { dataset: 'persons', kind: 'person_uuid' },
    { dataset: 'recordings', kind: 'recording_id' },
  ] as const;
  const removers = datasets.map(({ dataset, kind }) => ({
    kind,
    find: prepareFindRowKey(db, rowTables[dataset]),
    remove: prepareRemoveRow(db, dataset),
  }));
  const rest = {
    distinct_id: [
      /*sql*/ `DELETE FROM distinct_id_owners WHERE distinct_id = ?`,
      /*sql*/ `DELETE FROM distinct_ids_lost WHERE distinct_id = ?`,
    ].map((sql) => db.prepare<[string]>(sql)),
    recording_id: [db.prepare<[string]>(/*sql*/ `DELETE FROM playlist_recordings WHERE recording_id = ?`)],
  };
  return (requestId, identity, quarantined, at) => {
    let removed = 0;
    for (const { kind, find, remove } of removers)
      for (const key of identity[kind]) {
        const rowKey = find(key);
        if (rowKey === undefined) continue;
        remove(rowKey, 'erased', at, requestId);
        removed += 1;
      }
    for (const kind of ['distinct_id', 'recording_id'] as const)
      for (const value of identity[kind]) for (const statement of rest[kind]) statement.run(value);
    if (quarantined.length > 0) releaseQuarantined(db, quarantined);
    return removed;
  };
}

/** Takes rows out of quarantine, within the transaction that fences whom they may be about. */
export function releaseQuarantined(
  db: Database,
  rows: readonly Pick<QuarantinedSighting, 'dataset' | 'rowId'>[],
): void {
  const release = db.prepare<[string, string]>(
    /*sql*/ `DELETE FROM quarantine WHERE dataset = ? AND row_id = ?`,
  );
  for (const { dataset, rowId } of rows) release.run(dataset, rowId);
}

/** Ends unfinished passes whose cursor names anybody of an identity: the next pass begins anew. */
export function endPassesThatName(db: Database, identity: Identity, at: string): void {
  const named = new Set(identifierKinds.flatMap((kind) => identity[kind]));
  const unfinished = db
    .prepare<[], { id: number; cursor: string }>(
      /*sql*/ `SELECT id, cursor FROM passes WHERE verdict IS NULL AND cursor IS NOT NULL`,
    )
    .all();
  const end = db.prepare<[string, number]>(
    /*sql*/ `UPDATE passes SET verdict = 'incomplete', reason = 'superseded', finished_at = ?, cursor = NULL WHERE id = ?`,
  );
  for (const { id, cursor } of unfinished)
    if ([...textLeaves(JSON.parse(cursor))].some((text) => named.has(text))) end.run(at, id);
}

/**
 * Forgets deletions that have been in the feeds long enough, with everything that the change feed tells of the same
 * keys, unless they are there again. Returns how many deletions went.
 */
export function expireDeletionFeed(db: Database, before: string): number {
  return db
    .transaction(() => {
      db.prepare(/*sql*/ `DELETE FROM changes WHERE (dataset, key) IN (SELECT dataset, key FROM deletions AS expired
          WHERE deleted_at < @before AND NOT EXISTS (SELECT 1 FROM deletions AS later
            WHERE later.dataset = expired.dataset AND later.key = expired.key AND later.deleted_at >= @before)
          AND NOT EXISTS (SELECT 1 FROM persons WHERE expired.dataset = 'persons' AND uuid = expired.key)
          AND NOT EXISTS (SELECT 1 FROM recordings WHERE expired.dataset = 'recordings' AND id = expired.key))
          AND at < @before`).run({ before });
      const expired = db.prepare(/*sql*/ `DELETE FROM deletions WHERE deleted_at < ?`).run(before).changes;
      if (expired > 0) markPurgeOwed(db);
      return expired;
    })
    .immediate();
}

/** How many deletions have been in the feed since before a time. */
export function countExpiredDeletions(db: Database, before: string): number {
  return (
    db
      .prepare<[string], number>(/*sql*/ `SELECT count(*) FROM deletions WHERE deleted_at < ?`)
      .pluck()
      .get(before) ?? 0
  );
}
