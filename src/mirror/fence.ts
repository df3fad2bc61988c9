import type { Database } from 'better-sqlite3';
import { isoToMicros } from '../core/time.ts';
import { withoutDistinctIds } from '../contract/embedded-person.ts';
import type { Identifier, IdentifierKind } from '../contract/identity.ts';
import { textListOf, type Columns, type ColumnValue } from '../contract/tolerant-reader.ts';
import type { PassDataset } from './passes.ts';
import type { QuarantinedRow } from './quarantine.ts';
import { identifiersOfUnread } from './unread-identifiers.ts';

/** An entry of the fence as the ledger has it: no identifier, only its MAC (hex). */
export type FenceEntry = { kind: IdentifierKind; mac: string };

/** The entries that fence identifiers, by the key of this data folder. */
export function fenceEntries(db: Database, identifiers: readonly Identifier[]): FenceEntry[] {
  const mac = db.prepare<[string, string], string>(/*sql*/ `SELECT lower(hex(fence_mac(?, ?)))`).pluck();
  return identifiers.map(({ kind, value }) => ({ kind, mac: mac.get(kind, value) ?? '' }));
}

/** The entries that stand for a request. */
export function standingFence(db: Database, requestId: string): FenceEntry[] {
  return db
    .prepare<[string], FenceEntry>(
      /*sql*/ `SELECT kind, lower(hex(mac)) AS mac FROM fence WHERE request_id = ? ORDER BY kind, mac`,
    )
    .all(requestId);
}

/** Adds entries for a request, whatever others have fenced. Call it inside the transaction that raises the epoch. */
export function addFence(
  db: Database,
  request: { id: string; epoch: number; at: string },
  entries: readonly FenceEntry[],
): void {
  const add = db.prepare(/*sql*/ `INSERT INTO fence (kind, mac, request_id, epoch, fenced_at)
      VALUES (@kind, unhex(@mac), @id, @epoch, @at) ON CONFLICT DO NOTHING`);
  for (const entry of entries) add.run({ ...entry, ...request });
}

/** Lets those whom a request fenced in again, unless another has fenced them too. Returns how many entries went. */
export function liftFence(db: Database, requestId: string): number {
  return db.prepare(/*sql*/ `DELETE FROM fence WHERE request_id = ?`).run(requestId).changes;
}

/** What the fence has kept out for a request since it stands. */
export type FenceUse = { entries: number; hits: number; recreated: number; lastHitAt: string | null };

/** How a request's part of the fence has been used; that of several, where what they share counts once. */
export function readFenceUse(db: Database, ...requestIds: readonly string[]): FenceUse {
  return db
    .prepare<[string], FenceUse>(/*sql*/ `SELECT count(*) AS entries, coalesce(sum(hits), 0) AS hits,
        coalesce(sum(recreated), 0) AS recreated, max(lastHitAt) AS lastHitAt
      FROM (SELECT max(hits) AS hits, max(recreated) AS recreated, max(last_hit_at) AS lastHitAt FROM fence
        WHERE request_id IN (SELECT value FROM json_each(?)) GROUP BY kind, mac)`)
    .get(JSON.stringify(requestIds)) as FenceUse;
}

/** What the fence says of a row: it may enter as it is or trimmed, or it is kept out (undefined). */
export type Admit<Row> = (row: Row, at: string) => Row | undefined;

/**
 * Prepares the check of a dataset's rows, to be called inside the page's transaction. A fenced person or recording is
 * kept out, and so is whatever was recorded under a fenced distinct id, and whoever was created after the erasure and
 * holds one. Somebody who lived before and has come by a fenced distinct id is let in without it. Undefined while the
 * fence is empty.
 */
export function prepareAdmitRow(db: Database, dataset: PassDataset): Admit<Readonly<Columns>> | undefined {
  const fence = openFence(db);
  if (!fence || dataset === 'playlists') return undefined;
  return dataset === 'persons'
    ? (row, at) => admitPerson(fence, row, at)
    : (row, at) => admitRecording(fence, row, at);
}

/** Prepares the check of rows that could not be read: kept out where anything that they may be about is fenced. */
export function prepareAdmitUnread(db: Database, dataset: PassDataset): Admit<QuarantinedRow> | undefined {
  const fence = openFence(db);
  if (!fence) return undefined;
  return (row, at) => {
    const hit = identifiersOfUnread(dataset, row.key, row.payload).find(
      ({ kind, value }) => fence.find(kind, value) !== undefined,
    );
    if (!hit) return row;
    fence.count(hit, at, false);
    return undefined;
  };
}

type Fence = {
  /** When an identifier was first fenced, of what stands; undefined when it is not. */
  find: (kind: IdentifierKind, value: string) => string | undefined;
  count: (identifier: Identifier, at: string, isRecreated: boolean) => void;
};

function openFence(db: Database): Fence | undefined {
  if (db.prepare<[], number>(/*sql*/ `SELECT EXISTS (SELECT 1 FROM fence)`).pluck().get() === 0)
    return undefined;
  const find = db
    .prepare<[string, string, string], string | null>(
      // A row for each request that has fenced it; whoever was created after the first was created anew.
      /*sql*/ `SELECT min(fenced_at) FROM fence WHERE kind = ? AND mac = fence_mac(?, ?)`,
    )
    .pluck();
  const count =
    db.prepare(/*sql*/ `UPDATE fence SET hits = hits + 1, recreated = recreated + @isRecreated, last_hit_at = @at
    WHERE kind = @kind AND mac = fence_mac(@kind, @value)`);
  return {
    find: (kind, value) => find.get(kind, kind, value) ?? undefined,
    count: (identifier, at, isRecreated) =>
      void count.run({ ...identifier, at, isRecreated: isRecreated ? 1 : 0 }),
  };
}

function admitPerson(fence: Fence, row: Readonly<Columns>, at: string): Readonly<Columns> | undefined {
  const createdAt = row['created_at'];
  const own = hitOf(fence, [
    ['person_uuid', row['uuid']],
    ['person_id', row['id']],
  ]);
  if (own) {
    fence.count(own, at, isAfter(createdAt, own.fencedAt));
    return undefined;
  }
  const distinctIds = textListOf(row['distinct_ids']) ?? [];
  const hits = distinctIds.flatMap((value) => hitOf(fence, [['distinct_id', value]]) ?? []);
  if (hits.length === 0) return row;
  const recreated = hits.find(({ fencedAt }) => isAfter(createdAt, fencedAt));
  for (const hit of hits) fence.count(hit, at, recreated !== undefined);
  if (recreated) return undefined;
  const fenced = new Set(hits.map(({ value }) => value));
  return { ...row, distinct_ids: JSON.stringify(distinctIds.filter((value) => !fenced.has(value))) };
}

function admitRecording(fence: Fence, row: Readonly<Columns>, at: string): Readonly<Columns> | undefined {
  const own = hitOf(fence, [
    ['recording_id', row['id']],
    ['person_uuid', row['person_uuid']],
    ['distinct_id', row['distinct_id']],
  ]);
  if (own) {
    fence.count(own, at, own.kind !== 'recording_id' && isAfter(row['start_time'], own.fencedAt));
    return undefined;
  }
  const person = typeof row['person'] === 'string' ? row['person'] : null;
  const trimmed = withoutDistinctIds(person, (id) => fence.find('distinct_id', id) !== undefined);
  return trimmed === undefined ? row : { ...row, person: trimmed };
}

/** The first of a row's identifiers that is fenced, and since when. */
function hitOf(
  fence: Fence,
  identifiers: readonly (readonly [IdentifierKind, ColumnValue | undefined])[],
): (Identifier & { fencedAt: string }) | undefined {
  for (const [kind, value] of identifiers) {
    if (value === undefined || value === null) continue;
    const fencedAt = fence.find(kind, String(value));
    if (fencedAt !== undefined) return { kind, value: String(value), fencedAt };
  }
  return undefined;
}

function isAfter(time: ColumnValue | undefined, fencedAt: string): boolean {
  const micros = isoToMicros(String(time));
  const fencedMicros = isoToMicros(fencedAt);
  return micros !== undefined && fencedMicros !== undefined && micros > fencedMicros;
}

/** The requests that have fenced any of these identifiers. */
export function fencedBy(db: Database, identifiers: readonly Identifier[]): string[] {
  const find = db
    .prepare<[string, string, string], string>(
      /*sql*/ `SELECT request_id FROM fence WHERE kind = ? AND mac = fence_mac(?, ?)`,
    )
    .pluck();
  return [...new Set(identifiers.flatMap(({ kind, value }) => find.all(kind, kind, value)))];
}

/** How large the fence is, and how often it kept a row out: what several requests have fenced counts once. */
export function countFence(db: Database): Omit<FenceUse, 'lastHitAt'> {
  return db
    .prepare<
      [],
      Omit<FenceUse, 'lastHitAt'>
    >(/*sql*/ `SELECT count(*) AS entries, coalesce(sum(hits), 0) AS hits,
        coalesce(sum(recreated), 0) AS recreated
      FROM (SELECT max(hits) AS hits, max(recreated) AS recreated FROM fence GROUP BY kind, mac)`)
    .get() as FenceUse;
}
