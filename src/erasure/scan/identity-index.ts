import { z } from 'zod';
import { identifierKinds, type Identifier, type IdentifierKind } from '../../contract/identity.ts';
import { datasets, findDataset, keyKind } from '../../contract/datasets.ts';
import { integerText, isJsonObject, parseExactJson, readJson, readJsonText } from '../../core/exact-json.ts';
import { TextMap } from '../../core/text-map.ts';
import { sideTables } from '../../mirror/tables.ts';
import type { ScanSubject } from './scan-task.ts';
import { shingleBytes } from './shingle-search.ts';

/** A single value: of a column, or a text, number or list item of JSON. An item of a list has the name of the list. */
export type Leaf = {
  /** The column or field that holds the value. */
  name: string;
  /** The dataset, or the field that holds the object with that field. */
  owner: string;
  value: string | number | bigint;
};

/** Every text and number in a value, also in texts that are JSON. Not recursive: a file decides on the depth. */
export function* leavesOf(name: string, owner: string, value: unknown): Generator<Leaf> {
  // One at a time: a person can have half a million properties.
  const open: Iterator<Node>[] = [[{ name, owner, value }].values()];
  for (let within = open.at(-1); within; within = open.at(-1)) {
    const { done, value: node } = within.next();
    if (done === true) {
      open.pop();
      continue;
    }
    const { name, owner, value } = node;
    if (typeof value === 'string') {
      yield { name, owner, value };
      const parsed = readJsonText(value);
      if (parsed !== undefined) open.push([{ name, owner, value: parsed }].values());
    } else if (typeof value === 'number' || typeof value === 'bigint') yield { name, owner, value };
    else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) open.push(childrenOf(node));
  }
}

type Node = { name: string; owner: string; value: unknown };

function* childrenOf({ name, owner, value }: Node): Generator<Node> {
  if (Array.isArray(value)) for (const item of value as unknown[]) yield { name, owner, value: item };
  else
    for (const key of Object.keys(value as object))
      yield { name: key, owner: name, value: (value as Record<string, unknown>)[key] };
}

const uuid = z.regexes.guid;
const distinctIdName = /(?:distinct_ids?|^row_id)$/;
// These name users of the service. A user can also be a person of the project, but stands there as a user.
const userFields = new Set(['created_by', 'last_modified_by']);
const recordingIdName = /^(?:id|(?:session_)?recording_id|key|row_id)$/;

/** The kinds of identifier that a leaf can be, by the place where it stands and by its spelling. */
export function identifierKindsOf({ name, owner, value }: Leaf): IdentifierKind[] {
  if (userFields.has(owner)) return [];
  if (isPersonIdPlace(name, owner) && /^\d+$/.test(String(value))) return ['person_id'];
  if (typeof value !== 'string') return [];
  const kinds: IdentifierKind[] = [];
  if (uuid.test(value)) kinds.push('person_uuid');
  if (distinctIdName.test(name)) kinds.push('distinct_id');
  if (recordingIdName.test(name) || uuid.test(value)) kinds.push('recording_id');
  return kinds;
}

/** The spellings in which identifiers like a value are kept: as it is, and a uuid in lower case, too. A distinct id is kept as it is. */
export function spellingsOf(value: Leaf['value']): string[] {
  const text = String(value);
  const lower = typeof value === 'string' && uuid.test(value) ? value.toLowerCase() : text;
  return lower === text ? [text] : [text, lower];
}

/** A subject that a leaf identifies, by its place in the list, and the kind of the identifier. */
type Identified = { subject: number; kind: IdentifierKind };

/** The look-up of subjects by values. */
export type IdentityIndex = {
  /**
   * The subjects that a value identifies, wherever it stands. Only whole values match: `1` is not `11`. A long identifier
   * counts wherever it stands. A short one counts only where identifiers of its kind stand, since elsewhere it can be any
   * word or number.
   */
  findSubjects: (leaf: Leaf) => Identified[];
  /** The subjects that have an identifier of exactly this kind and value. */
  subjectsOf: (identifier: Identifier) => number[];
};

/** Prepares the look-up of subjects. It keeps numbers of identifiers, and no identifier. */
export function indexIdentities(identities: readonly ScanSubject['identity'][]): IdentityIndex {
  const lists = identities.flatMap((identity, subject) =>
    identifierKinds.map((kind) => ({ subject, kind, texts: identity[kind], first: 0 })),
  );
  let size = 0;
  for (const list of lists) {
    list.first = size;
    size += list.texts.length;
  }
  const numbers = new TextMap();
  /** Of each identifier the list that it stands in. */
  const listOf = new Uint32Array(size + 1);
  let number = 0;
  for (const [list, { texts }] of lists.entries())
    for (const value of texts) {
      number += 1;
      listOf[number] = list;
      numbers.add(value, number);
    }
  const identified = (value: string): Identified[] => {
    let found: Identified[] | undefined;
    numbers.find(value, (number) => {
      const { subject, kind, texts, first } = lists[listOf[number] as number] as (typeof lists)[number];
      if (texts.at(number - 1 - first) === value) (found ??= []).push({ subject, kind });
      // All are wanted, and not only the first.
      return false;
    });
    return found ?? none;
  };
  return {
    findSubjects: (leaf) => {
      const found = spellingsOf(leaf.value).flatMap(identified);
      if (found.length === 0) return none;
      const here = identifierKindsOf(leaf);
      const isLong = typeof leaf.value === 'string' && Buffer.byteLength(leaf.value) >= shingleBytes;
      return found.filter(({ kind }) => here.includes(kind) || (isLong && kind !== 'person_id'));
    },
    subjectsOf: ({ kind, value }) => identified(value).flatMap((one) => (one.kind === kind ? one.subject : none)),
  };
}

const none: never[] = [];

// Users and playlists have integer ids of their own.
function isPersonIdPlace(name: string, owner: string): boolean {
  return name === 'person_id' || (name === 'id' && (owner === 'persons' || owner === 'person'));
}

/** The columns that identify what a row is about, by table or published dataset. All others are free text. */
const columnKinds = new Map<string, Map<string, IdentifierKind>>();
const note = (table: string, column: string, kind: IdentifierKind): void => {
  columnKinds.set(table, (columnKinds.get(table) ?? new Map<string, IdentifierKind>()).set(column, kind));
};
for (const [dataset, { identifiers, heldIds }] of Object.entries(datasets))
  for (const { name, column, role } of heldIds ? [...identifiers, heldIds] : identifiers) {
    note(dataset, name, role);
    note(dataset, column, role);
  }
for (const { table, column, kind } of sideTables) note(table, column, kind);

/** Tells of the columns of a table or dataset whether `identifiersInPlace` reads them, or they show the name of a person. */
export function identifyingColumns(dataset: string): (column: string) => boolean {
  const feedKey = dataset === 'changes' || dataset === 'deletions' ? 'key' : null;
  const shown = [findDataset(dataset)?.embeddedPerson, dataset === 'persons' ? 'name' : null, feedKey];
  return (column) => shown.includes(column) || columnKinds.get(dataset)?.has(column) === true;
}

/**
 * The identifiers by which a column says what its row is about, each of the kind that the column holds. `deletedFrom`: the
 * dataset that a row of a feed names. A value within properties, filters and other free text is never one, whatever its name.
 */
export function identifiersInPlace(
  dataset: string,
  column: string,
  value: unknown,
  deletedFrom?: unknown,
): Identifier[] {
  if (column === findDataset(dataset)?.embeddedPerson) return embeddedIdentifiers(value);
  const isFeedKey = column === 'key' && (dataset === 'changes' || dataset === 'deletions');
  const kind = isFeedKey ? keyKind(String(deletedFrom)) : columnKinds.get(dataset)?.get(column);
  // No row can have such a key, or the column is free text.
  if (kind === undefined) return [];
  // A column of the mirror holds its list as JSON.
  return column === findDataset(dataset)?.heldIds?.name && typeof value === 'string'
    ? identifiersOf(kind, readJson(value, parseExactJson))
    : identifiersOf(kind, value);
}

function embeddedIdentifiers(value: unknown): Identifier[] {
  const person = typeof value === 'string' ? readJson(value, parseExactJson) : undefined;
  if (!isJsonObject(person)) return [];
  return [
    ...identifiersOf('person_uuid', person['uuid']),
    ...identifiersOf('person_id', person['id']),
    ...identifiersOf('distinct_id', person['distinct_ids']),
  ];
}

/** The identifiers of a kind in a value or a list. */
function identifiersOf(kind: IdentifierKind, value: unknown): Identifier[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => identifierOf(kind, item));
  return identifierOf(kind, value);
}

function identifierOf(kind: IdentifierKind, value: unknown): Identifier[] {
  if (kind === 'person_id') {
    const digits = integerText(value);
    return digits === undefined ? [] : [{ kind, value: digits }];
  }
  if (typeof value !== 'string') return [];
  if (kind !== 'person_uuid') return [{ kind, value }];
  return uuid.test(value) ? [{ kind, value: value.toLowerCase() }] : [];
}
