import type { Database } from 'better-sqlite3';
import { textLeaves } from '../core/exact-json.ts';
import { datasets, keyKind, pagedDatasets, type PagedDataset } from '../contract/datasets.ts';
import { withoutDistinctIds } from '../contract/embedded-person.ts';
import { identifierKinds, type IdentifierKind, type Identity } from '../contract/identity.ts';
import { prepareForgetNames } from './properties.ts';
import type { QuarantinedSighting } from './quarantine.ts';
import { forgetSeen, seenRows } from './seen.ts';
import { findFormerUuids, namesSought, recordingsInParts } from './sightings.ts';
import { prepareFindRowKey, sideTables } from './tables.ts';

/** Why a row left: the service deleted, merged or no longer keeps it; or an erasure request removed it. */
export type DeletionReason = 'deleted' | 'merged' | 'expired' | 'erased';

/** What a row left for: the erasure request, or the person (by uuid) that it was merged into. */
type DeletionGround = { requestId: string } | { mergedInto: string };

/**
 * Prepares what removes a row and tells the feeds. Call it inside a transaction. A recording can show no person: the feed then names the
 * person who holds its distinct id, so that an erasure names the recording, too. Where two persons show that id, the feed names nobody.
 */
export function prepareRemoveRow(
  db: Database,
  dataset: PagedDataset,
): (rowKey: number, reason: DeletionReason, at: string, ground?: DeletionGround) => void {
  const { key, identifiers, heldIds } = datasets[dataset];
  const columnOf = (kind: IdentifierKind): string => {
    const name = identifiers.find(({ role }) => role === kind)?.name;
    return name === undefined ? 'NULL' : `${dataset}.${name}`;
  };
  const remove = db.prepare<
    [number],
    { key: string; personUuid: string | null; firstSeenPass: number }
  >(/*sql*/ `DELETE FROM ${dataset} WHERE row_key = ?
      RETURNING ${key} AS key, first_seen_pass AS firstSeenPass,
        coalesce(${columnOf('person_uuid')}, (SELECT person_uuid FROM person_distinct_ids AS held
          WHERE held.distinct_id = ${columnOf('distinct_id')} AND NOT EXISTS (SELECT 1 FROM distinct_ids_lost AS lost
            WHERE lost.distinct_id = held.distinct_id AND shown_pass IS NOT NULL))) AS personUuid`);
  const dependents = [
    ...forgetSeen(dataset),
    /*sql*/ `DELETE FROM suspects WHERE dataset = '${dataset}' AND row_key = @rowKey`,
    ...(heldIds
      ? [
          /*sql*/ `DELETE FROM distinct_id_owners WHERE person_row_key = @rowKey`,
          /*sql*/ `DELETE FROM distinct_ids_lost WHERE person_row_key = @rowKey`,
        ]
      : []),
  ].map((sql) => db.prepare<{ rowKey: number }>(sql));
  const tell = prepareTellDeletion(db);
  return (rowKey, reason, at, ground) => {
    const removed = remove.get(rowKey);
    for (const dependent of dependents) dependent.run({ rowKey });
    if (removed === undefined) return;
    tell({ dataset, ...removed, reason, at, requestId: null, mergedInto: null, ...ground });
  };
}

/** A deletion as both feeds tell it. Times are ISO 8601 UTC. */
type ToldDeletion = {
  dataset: PagedDataset;
  key: string;
  personUuid: string | null;
  reason: DeletionReason;
  at: string;
} & { requestId: string | null; mergedInto: string | null; firstSeenPass: number | null };

/**
 * Prepares what tells both feeds of a deletion, under one number. It stays in the feed as long where this machine's clock was set
 * back: the row left no earlier than the clocks last agreed.
 */
function prepareTellDeletion(db: Database): (deletion: ToldDeletion) => void {
  const appendChange = db.prepare<ToldDeletion>(
    /*sql*/ `INSERT INTO changes (dataset, key, op, at) VALUES (@dataset, @key, 'delete', @at)`,
  );
  const appendDeletion = db.prepare<
    ToldDeletion & { seq: number | bigint }
  >(/*sql*/ `INSERT INTO deletions (seq, dataset, key, person_uuid, reason, deleted_at, request_id, merged_into,
        first_seen_pass)
      VALUES (@seq, @dataset, @key, @personUuid, @reason, max(@at, coalesce((SELECT agreed_at FROM service_clock), @at)), @requestId,
        @mergedInto, @firstSeenPass)`);
  return (deletion) => void appendDeletion.run({ ...deletion, seq: appendChange.run(deletion).lastInsertRowid });
}

/**
 * SQL: until when a live service keeps a recording, as a Julian day; null where it has not told. No recording is over before it began: some
 * write a year as 1 or 1970 for what has no end.
 */
export const expiry = /*sql*/ `iif(json_valid(extra), iif(extra ->> '$.expiry_time' GLOB '????-??-??*'
  AND julianday(extra ->> '$.expiry_time') > coalesce(julianday(start_time), 0), julianday(extra ->> '$.expiry_time'), NULL), NULL)`;

/**
 * The recordings (surrogate keys) that the newest complete pass did not see, and that were to be kept until before a time, as a live
 * service says of each, or began before another.
 */
export function listExpiredRecordings(
  db: Database,
  { at, startedBefore }: { at: string; startedBefore: string | null },
): number[] {
  const sql = /*sql*/ `SELECT row_key FROM ${seenRows('recordings')}
      WHERE pass_id < (SELECT max(id) FROM passes WHERE dataset = 'recordings' AND verdict = 'complete')
        AND (start_time < @startedBefore OR ${expiry} < julianday(@at))`;
  return db.prepare<[object], number>(sql).pluck().all({ at, startedBefore });
}

/**
 * Prepares what removes an identity from the tables, in the fence's transaction, and tells the feeds of all its rows, also of
 * those that left before. Returns how many rows went.
 */
export function prepareEraseRows(db: Database): (requestId: string, identity: Identity, at: string) => number {
  const removers = pagedDatasets.map((dataset) => ({
    kind: keyKind(dataset),
    find: prepareFindRowKey(db, dataset),
    remove: prepareRemoveRow(db, dataset),
  }));
  const sides = sideTables.map(({ table, column, kind }) => ({
    kind,
    remove: db.prepare<[string]>(/*sql*/ `DELETE FROM ${table} WHERE ${column} = ?`),
  }));
  const tellAgain = prepareTellAgain(db);
  const forgetNames = prepareForgetNames(db);
  return (requestId, identity, at) => {
    let removed = 0;
    forgetNames(identity);
    tellAgain(requestId, identity, at);
    for (const { kind, find, remove } of removers)
      for (const key of kind ? identity[kind] : []) {
        const rowKey = find(key);
        if (rowKey === undefined) continue;
        remove(rowKey, 'erased', at, { requestId });
        removed += 1;
      }
    for (const { kind, remove } of sides) for (const value of identity[kind]) remove.run(value);
    return removed;
  };
}

/**
 * Prepares what tells both feeds, for an erasure request, of the subject's rows that are not here any more: those that had
 * left before, those that were merged into the subject, and those that only published files or the service have shown. Copies
 * elsewhere may have them. They are told under new numbers, so that who reads on finds them. For before the rows leave.
 */
function prepareTellAgain(db: Database): (requestId: string, identity: Identity, at: string) => void {
  const former = db.prepare<
    { uuids: string; recordings: string },
    Pick<ToldDeletion, 'dataset' | 'key'>
  >(/*sql*/ `WITH subject (uuid) AS (SELECT value FROM json_each(@uuids)),
      former (dataset, key) AS (SELECT 'persons', uuid FROM subject
        UNION SELECT 'recordings', value FROM json_each(@recordings)
        UNION SELECT dataset, key FROM subject JOIN deletions ON person_uuid = uuid AND request_id IS NULL)
      SELECT dataset, key FROM former
      WHERE NOT EXISTS (SELECT 1 FROM persons WHERE dataset = 'persons' AND uuid = key)
        AND NOT EXISTS (SELECT 1 FROM recordings WHERE dataset = 'recordings' AND id = key)`);
  const forget = db.prepare<
    [string, string],
    Pick<ToldDeletion, 'personUuid' | 'reason' | 'firstSeenPass'>
  >(/*sql*/ `DELETE FROM deletions WHERE dataset = ? AND key = ?
      RETURNING person_uuid AS personUuid, reason, first_seen_pass AS firstSeenPass`);
  const tell = prepareTellDeletion(db);
  return (requestId, { person_uuid: uuids, recording_id: recordings }, at) => {
    const all = [...uuids, ...findFormerUuids(db, uuids)];
    const found = former.all({ uuids: JSON.stringify(all), recordings: JSON.stringify(recordings) });
    for (const { dataset, key } of found) {
      const before = forget.all(dataset, key);
      const known = before.find(({ personUuid }) => personUuid !== null)?.personUuid ?? null;
      const personUuid = dataset === 'persons' ? key : known;
      const reason = before.at(-1)?.reason === 'deleted' ? 'deleted' : 'erased';
      const firstSeenPass = before[0]?.firstSeenPass ?? null;
      tell({ dataset, key, personUuid, reason, at, requestId, mergedInto: null, firstSeenPass });
    }
  };
}

/** Takes rows out of quarantine, within the transaction that fences the persons that they may be about. */
export function releaseQuarantined(
  db: Database,
  rows: readonly Pick<QuarantinedSighting, 'dataset' | 'rowId'>[],
): void {
  const release = db.prepare<[string, string]>(/*sql*/ `DELETE FROM quarantine WHERE dataset = ? AND row_id = ?`);
  for (const { dataset, rowId } of rows) release.run(dataset, rowId);
}

/** Ends the unfinished passes whose cursor names an identifier of an identity: the next pass begins at the top. */
export function endPassesThatName(db: Database, identity: Identity, at: string): void {
  const sql = /*sql*/ `SELECT id, cursor FROM passes WHERE verdict IS NULL AND cursor IS NOT NULL`;
  const unfinished = db.prepare<[], { id: number; cursor: string }>(sql).all();
  const end = db.prepare<[string, number]>(
    /*sql*/ `UPDATE passes SET verdict = 'incomplete', reason = 'superseded', finished_at = ?, cursor = NULL WHERE id = ?`,
  );
  for (const { id, cursor } of unfinished) {
    const texts = new Set(textLeaves(JSON.parse(cursor)));
    if (identifierKinds.some((kind) => identity[kind].some((value) => texts.has(value)))) end.run(at, id);
  }
}

/**
 * Removes distinct ids from the persons in all recordings, as the fence does. Yields how many recordings changed of the next
 * some thousands: to be taken to its end.
 */
export function* trimRecordings(db: Database, distinctIds: readonly string[], at: string): Generator<number> {
  if (distinctIds.length === 0) return;
  const gone = new Set(distinctIds);
  const replace = db.prepare<[string, string, number]>(
    /*sql*/ `UPDATE recordings SET person = ?, changed_at = ? WHERE row_key = ?`,
  );
  const appendChange = db.prepare<[string, string]>(
    /*sql*/ `INSERT INTO changes (dataset, key, op, at) VALUES ('recordings', ?, 'upsert', ?)`,
  );
  type Named = { rowKey: number; id: string; person: string };
  const found = recordingsInParts(
    db,
    { distinct_id: distinctIds },
    'row_key AS rowKey, id, person',
    namesSought,
    (row) => row as Named,
  );
  for (const rows of found) {
    let changed = 0;
    for (const { rowKey, id, person } of rows) {
      const trimmed = withoutDistinctIds(person, (distinctId) => gone.has(distinctId));
      if (trimmed === undefined) continue;
      replace.run(trimmed, at, rowKey);
      appendChange.run(id, at);
      changed += 1;
    }
    yield changed;
  }
}
