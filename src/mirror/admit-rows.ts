import type { Database } from 'better-sqlite3';
import { datasets, type MirroredDataset } from '../contract/datasets.ts';
import { embeddedPerson, withoutDistinctIds } from '../contract/embedded-person.ts';
import type { IdentifierKind } from '../contract/identity.ts';
import { textListOf, type Columns, type ColumnValue } from '../contract/tolerant-reader.ts';
import { prepareNoteListedAgain } from './listed-again.ts';
import { openFence, type Fence, type Hit, type ShownPerson } from './fenced-identifier.ts';
import { identifiersOfUnread, type QuarantinedRow } from './quarantine.ts';

/** What the fence says of a row: it may enter as it is or trimmed, or it is kept out (undefined). */
export type Admit<Row> = (row: Row, at: string) => Row | undefined;

/** The rows that hold a fenced distinct id: kept out since their person came after the erasure, or let in without it. */
type HolderCounts = { cameAfter: number; trimmed: number };

/** The fence before a dataset: asked for rows that were read, and for those that could not be. */
export type Admission = {
  /** Reads the fence if it has grown. Call it in each transaction, before the first row. */
  refresh: () => void;
  row: Admit<Readonly<Columns>>;
  unread: Admit<QuarantinedRow>;
  /** The holders since it was asked last. */
  takeCounts: () => HolderCounts;
};

/** Prepares the check of a dataset's rows, to be called inside the page's transaction. */
export function prepareAdmission(db: Database, dataset: MirroredDataset): Admission {
  const fence = openFence(db);
  let counts: HolderCounts = { cameAfter: 0, trimmed: 0 };
  return {
    refresh: fence.refresh,
    row: prepareAdmitRow(db, dataset, fence, (what) => (counts[what] += 1)),
    unread: prepareAdmitUnread(dataset, fence),
    takeCounts: () => {
      const taken = counts;
      counts = { cameAfter: 0, trimmed: 0 };
      return taken;
    },
  };
}

/**
 * Prepares the check of rows that were read. A row is kept out when it is of a fenced person or recording, when it was recorded
 * under a fenced distinct id, or when its person, or the one that it embeds, holds a fenced distinct id and came after the
 * erasure. A person who was known before the erasure and has come by a fenced distinct id is let in without it. A name that is
 * a fenced distinct id is left out in any case: services show a person without properties by it. A recording shows one distinct id
 * of its person, so a person who is kept out could come in by it: it is stored with a person whom the mirror has, or without.
 */
function prepareAdmitRow(
  db: Database,
  dataset: MirroredDataset,
  fence: Fence,
  countHolder: (what: keyof HolderCounts) => void,
): Admit<Readonly<Columns>> {
  const { identifiers, sortTime, embeddedPerson } = datasets[dataset];
  if (sortTime === null || identifiers.length === 0) return (row) => row;
  // Where the persons are not mirrored, nothing could be said of any. That none is left there says nothing.
  const isMirrored = db
    .prepare<[string], number>(/*sql*/ `SELECT EXISTS (SELECT 1 FROM persons WHERE uuid = ?)
        OR NOT EXISTS (SELECT 1 FROM passes WHERE dataset = 'persons' AND verdict = 'complete')`)
    .pluck();
  const withKnownPerson = (row: Readonly<Columns>): Readonly<Columns> => {
    const uuid = textOf(row['person_uuid']);
    if (embeddedPerson === null || uuid === null || isMirrored.get(uuid) === 1) return row;
    return { ...row, [embeddedPerson]: null };
  };
  const noteListedAgain = prepareNoteListedAgain(db, dataset);
  // An integer id alone names nobody: a service may use it again, for a person with another uuid.
  const naming = identifiers.filter(({ role }) => role !== 'person_id');
  return (row, at) => {
    if (fence.isEmpty()) return row;
    const own = naming.flatMap(({ role, name }) => hitOf(fence, role, row[name]) ?? []);
    const [first] = own;
    if (first) {
      const isSame = fence.isSame(first, row[sortTime]);
      fence.count(first, at, !isSame);
      noteListedAgain(own, { row, isSame });
      return undefined;
    }
    const judged = judgeShown(fence, shownIn(dataset, row), at);
    if (judged === 'known') return withKnownPerson(row);
    if (judged === 'fenced') return undefined;
    countHolder(judged === 'came after' ? 'cameAfter' : 'trimmed');
    return judged === 'came after' ? undefined : withKnownPerson(withoutTexts(dataset, row, judged));
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

/** The person that a row is about, or embeds. */
function shownIn(dataset: MirroredDataset, row: Readonly<Columns>): ShownPerson {
  const { heldIds, sortTime, embeddedPerson: field } = datasets[dataset];
  if (heldIds)
    return {
      uuid: textOf(row['uuid']),
      id: textOf(row['id']),
      distinctIds: textListOf(row[heldIds.name]) ?? [],
      name: textOf(row['name']),
      createdAt: textOf(row[sortTime ?? '']),
    };
  const { id, distinctIds, name = null, createdAt = null } = embeddedPerson(textOf(row[field ?? '']));
  return { uuid: textOf(row['person_uuid']), id, distinctIds, name, createdAt };
}

/**
 * Judges the person that a row shows, and counts what keeps it out: it is not known to the fence, it is fenced itself, or it came
 * after the erasure of somebody whose distinct id it holds; otherwise these are the texts that it is let in without.
 */
function judgeShown(fence: Fence, person: ShownPerson, at: string): 'known' | 'fenced' | 'came after' | Set<string> {
  const { uuid, id, distinctIds, name } = person;
  const hits = distinctIds.flatMap((value) => hitOf(fence, 'distinct_id', value) ?? []);
  const own = uuid === null || hits.length > 0 ? hitOf(fence, 'person_id', id) : undefined;
  if (own) {
    fence.count(
      own,
      at,
      hits.some((hit) => fence.cameAfter(person, hit)),
    );
    return 'fenced';
  }
  if (hits.some((hit) => fence.cameAfter(person, hit))) {
    for (const hit of hits) fence.count(hit, at, true);
    return 'came after';
  }
  const named = distinctIds.includes(name ?? '') ? undefined : hitOf(fence, 'distinct_id', name);
  const texts = new Set([...hits, ...(named ? [named] : [])].map(({ value }) => value));
  return texts.size === 0 ? 'known' : texts;
}

/** A row without texts of its person: in the list of distinct ids, and as the name. */
function withoutTexts(dataset: MirroredDataset, row: Readonly<Columns>, texts: ReadonlySet<string>): Readonly<Columns> {
  const { heldIds, embeddedPerson: field } = datasets[dataset];
  const isGone = (text: string): boolean => texts.has(text);
  if (!heldIds) {
    const person = textOf(row[field ?? '']);
    return { ...row, [field ?? '']: withoutDistinctIds(person, isGone) ?? person };
  }
  const { name, [heldIds.name]: list } = row;
  const kept = (textListOf(list) ?? []).filter((distinctId) => !isGone(distinctId));
  return { ...row, [heldIds.name]: JSON.stringify(kept), ...(isGone(textOf(name) ?? '') ? { name: null } : {}) };
}

function hitOf(fence: Fence, kind: IdentifierKind, value: ColumnValue | undefined): Hit | undefined {
  return value === undefined || value === null ? undefined : fence.find(kind, String(value));
}

function textOf(value: ColumnValue | undefined): string | null {
  return value === undefined || value === null ? null : String(value);
}
