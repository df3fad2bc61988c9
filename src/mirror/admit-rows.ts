import type { Database } from 'better-sqlite3';
import { isoToMicros } from '../core/time.ts';
import { datasets, type MirroredDataset } from '../contract/datasets.ts';
import { embeddedPerson, withoutDistinctIds } from '../contract/embedded-person.ts';
import { nobody, type Identifier, type IdentifierKind, type Identity } from '../contract/identity.ts';
import { sightingOf } from '../contract/row-readers.ts';
import { textListOf, type Columns, type ColumnValue } from '../contract/tolerant-reader.ts';
import { prepareNoteListedAgain } from './erasure-requests.ts';
import { prepareFenceFilter, type FenceFilter } from './fence-mac.ts';
import { identifiersOfUnread, type QuarantinedRow } from './quarantine.ts';

/** What the fence says of a row: it may enter as it is or trimmed, or it is kept out (undefined). */
export type Admit<Row> = (row: Row, at: string) => Row | undefined;

/** The fence before a dataset: asked for rows that were read, and for those that could not be. */
export type Admission = {
  /** Reads the fence if it has grown. Call it in each transaction, before the first row. */
  refresh: () => void;
  row: Admit<Readonly<Columns>>;
  unread: Admit<QuarantinedRow>;
};

/** Prepares the check of a dataset's rows, to be called inside the page's transaction. */
export function prepareAdmission(db: Database, dataset: MirroredDataset): Admission {
  const fence = openFence(db);
  return {
    refresh: fence.refresh,
    row: prepareAdmitRow(db, dataset, fence),
    unread: prepareAdmitUnread(dataset, fence),
  };
}

/**
 * Prepares the check of rows that were read. A row is kept out when it is of a fenced person or recording, when it was recorded
 * under a fenced distinct id, or when its person, or the one that it embeds, was created after the erasure and holds a fenced
 * distinct id. A person who lived before the erasure and has come by a fenced distinct id is let in without it.
 */
function prepareAdmitRow(db: Database, dataset: MirroredDataset, fence: Fence): Admit<Readonly<Columns>> {
  const { identifiers, sortTime, heldIds, embeddedPerson: field } = datasets[dataset];
  if (sortTime === null || identifiers.length === 0) return (row) => row;
  const noteListedAgain = prepareNoteListedAgain(db);
  return (row, at) => {
    if (fence.isEmpty()) return row;
    const own = hitOf(
      fence,
      identifiers.map(({ role, name }) => [role, row[name]]),
    );
    if (own) {
      const isRecreated = own.kind !== 'recording_id' && isAfter(row[sortTime], own.fencedAt);
      fence.count(own, at, isRecreated);
      // The person who was erased, and not one who came back under the same uuid.
      if (dataset === 'persons' && own.kind === 'person_uuid' && isBefore(row[sortTime], own.fencedAt))
        noteListedAgain(own.value, identityOfPerson(row), at);
      return undefined;
    }
    if (heldIds) return admitHolder(fence, row, { at, list: heldIds.name, createdAt: row[sortTime] });
    return field === null ? row : admitEmbedding(fence, row, field, at);
  };
}

/** Prepares the check of rows that could not be read: kept out where anything that they may be about is fenced. */
function prepareAdmitUnread(dataset: MirroredDataset, fence: Fence): Admit<QuarantinedRow> {
  return (row, at) => {
    if (fence.isEmpty()) return row;
    const hit = identifiersOfUnread(dataset, row.key, row.payload).find(
      ({ kind, value }) => fence.find(kind, value) !== undefined,
    );
    if (!hit) return row;
    fence.count(hit, at, false);
    return undefined;
  };
}

type Fence = Pick<FenceFilter, 'refresh' | 'isEmpty'> & {
  /** When an identifier was first fenced, of what stands; undefined when it is not. */
  find: (kind: IdentifierKind, value: string) => string | undefined;
  count: (identifier: Identifier, at: string, isRecreated: boolean) => void;
};

function openFence(db: Database): Fence {
  const { refresh, isEmpty, mayHold } = prepareFenceFilter(db);
  const find = db
    .prepare<[string, string, string], string | null>(
      // A row for each request that has fenced it: a person created after the first of them is another person.
      /*sql*/ `SELECT min(fenced_at) FROM fence WHERE kind = ? AND mac = fence_mac(?, ?)`,
    )
    .pluck();
  const count =
    db.prepare(/*sql*/ `UPDATE fence SET hits = hits + 1, recreated = recreated + @isRecreated, last_hit_at = @at
    WHERE kind = @kind AND mac = fence_mac(@kind, @value)`);
  return {
    refresh,
    isEmpty,
    find: (kind, value) => (mayHold(kind, value) ? (find.get(kind, kind, value) ?? undefined) : undefined),
    count: (identifier, at, isRecreated) => void count.run({ ...identifier, at, isRecreated: isRecreated ? 1 : 0 }),
  };
}

/** A person, by the distinct ids that it holds. */
function admitHolder(
  fence: Fence,
  row: Readonly<Columns>,
  { at, list, createdAt }: { at: string; list: string; createdAt: ColumnValue | undefined },
): Readonly<Columns> | undefined {
  const distinctIds = textListOf(row[list]) ?? [];
  const hits = hitsOf(fence, distinctIds);
  if (hits.length === 0) return row;
  const isRecreated = isAfterAny(createdAt, hits);
  for (const hit of hits) fence.count(hit, at, isRecreated);
  if (isRecreated) return undefined;
  const fenced = new Set(hits.map(({ value }) => value));
  return { ...row, [list]: JSON.stringify(distinctIds.filter((value) => !fenced.has(value))) };
}

/** A row that embeds a person, by the identifiers that it names there. */
function admitEmbedding(
  fence: Fence,
  row: Readonly<Columns>,
  field: string,
  at: string,
): Readonly<Columns> | undefined {
  const value = row[field];
  const person = typeof value === 'string' ? value : null;
  const { id, distinctIds, createdAt } = embeddedPerson(person);
  const own = hitOf(fence, [['person_id', id]]);
  const hits = hitsOf(fence, distinctIds);
  if (!own && hits.length === 0) return row;
  const isRecreated = isAfterAny(createdAt, hits);
  if (own || isRecreated) {
    for (const hit of own ? [own] : hits) fence.count(hit, at, isRecreated);
    return undefined;
  }
  const fenced = new Set(hits.map(({ value }) => value));
  return { ...row, [field]: withoutDistinctIds(person, (distinctId) => fenced.has(distinctId)) ?? person };
}

/** An identifier that is fenced, and since when. */
type Hit = Identifier & { fencedAt: string };

function hitsOf(fence: Fence, distinctIds: readonly string[]): Hit[] {
  return distinctIds.flatMap((value) => hitOf(fence, [['distinct_id', value]]) ?? []);
}

/** Whether a person was created after one of its identifiers was fenced. */
function isAfterAny(createdAt: ColumnValue | undefined, hits: readonly Hit[]): boolean {
  return hits.some(({ fencedAt }) => isAfter(createdAt, fencedAt));
}

/** The first of a row's identifiers that is fenced, and since when. */
function hitOf(
  fence: Fence,
  identifiers: readonly (readonly [IdentifierKind, ColumnValue | undefined])[],
): Hit | undefined {
  for (const [kind, value] of identifiers) {
    if (value === undefined || value === null) continue;
    const fencedAt = fence.find(kind, String(value));
    if (fencedAt !== undefined) return { kind, value: String(value), fencedAt };
  }
  return undefined;
}

function identityOfPerson(row: Readonly<Columns>): Identity {
  const { person_uuid: uuid, person_id: id, distinct_ids: distinctIds } = sightingOf('persons', row);
  return {
    ...nobody,
    person_uuid: uuid === null ? [] : [uuid],
    person_id: id === null ? [] : [id],
    distinct_id: distinctIds,
  };
}

function isBefore(time: ColumnValue | undefined, fencedAt: string): boolean {
  return isoToMicros(String(time)) !== undefined && !isAfter(time, fencedAt);
}

function isAfter(time: ColumnValue | undefined, fencedAt: string): boolean {
  const micros = isoToMicros(String(time));
  const fencedMicros = isoToMicros(fencedAt);
  return micros !== undefined && fencedMicros !== undefined && micros > fencedMicros;
}
