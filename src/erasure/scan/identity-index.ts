import { z } from 'zod';
import { identifierKinds, type Identifier, type IdentifierKind, type Identity } from '../../contract/identity.ts';
import { readJsonText } from '../../core/exact-json.ts';
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
  const open: { name: string; owner: string; value: unknown }[] = [{ name, owner, value }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { name, owner, value } = next;
    if (typeof value === 'string') {
      yield { name, owner, value };
      const parsed = readJsonText(value);
      if (parsed !== undefined) open.push({ name, owner, value: parsed });
    } else if (typeof value === 'number' || typeof value === 'bigint') yield { name, owner, value };
    else if (Array.isArray(value)) for (const item of value as unknown[]) open.push({ name, owner, value: item });
    else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value))
      for (const [key, child] of Object.entries(value)) open.push({ name: key, owner: name, value: child });
  }
}

const uuid = z.regexes.guid;
const distinctIdName = /(?:distinct_ids?|^m(?:in|ax)_key|^row_id)$/;
// These name users of the service. A user can also be a person of the project, but stands there as a user.
const userFields = new Set(['created_by', 'last_modified_by']);
const recordingIdName = /^(?:id|(?:session_)?recording_id|key|m(?:in|ax)_key|row_id)$/;

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

/** A value, spelled as identifiers are kept: uuids in lower case. */
export function identifierValue(value: Leaf['value']): string {
  return typeof value === 'string' && uuid.test(value) ? value.toLowerCase() : String(value);
}

const none: never[] = [];

/** A subject that a leaf identifies, by its place in the list, and the kind of the identifier. */
type Identified = { subject: number; kind: IdentifierKind };

/** The subjects that a leaf identifies. */
export type IdentityIndex = (leaf: Leaf) => Identified[];

/**
 * Prepares the look-up of values that stand anywhere. Only whole values match: `1` is not `11`. A long identifier counts
 * wherever it stands. A short one counts only where identifiers of its kind stand, since elsewhere it can be any word or
 * number.
 */
export function indexIdentities(identities: readonly Identity[]): IdentityIndex {
  const known = new Map<string, Identified[]>();
  for (const { kind, value, subject } of everyIdentifier(identities)) add(known, value, { subject, kind });
  return (leaf) => {
    const found = known.get(identifierValue(leaf.value));
    if (!found) return none;
    const kinds = identifierKindsOf(leaf);
    const isLong = typeof leaf.value === 'string' && Buffer.byteLength(leaf.value) >= shingleBytes;
    return found.filter(({ kind }) => kinds.includes(kind) || (isLong && kind !== 'person_id'));
  };
}

/** Prepares the look-up of the subjects that have an identifier of exactly this kind and value. */
export function indexIdentifiers(identities: readonly Identity[]): (identifier: Identifier) => readonly number[] {
  const known = new Map<string, number[]>();
  for (const { kind, value, subject } of everyIdentifier(identities)) add(known, `${kind} ${value}`, subject);
  return ({ kind, value }) => known.get(`${kind} ${value}`) ?? none;
}

function* everyIdentifier(identities: readonly Identity[]): Generator<Identifier & { subject: number }> {
  for (const [subject, identity] of identities.entries())
    for (const kind of identifierKinds) for (const value of identity[kind]) yield { kind, value, subject };
}

function add<T>(known: Map<string, T[]>, key: string, found: T): void {
  const others = known.get(key);
  if (others) others.push(found);
  else known.set(key, [found]);
}

// Users and playlists have integer ids of their own.
function isPersonIdPlace(name: string, owner: string): boolean {
  return name === 'person_id' || (name === 'id' && (owner === 'persons' || owner === 'person'));
}
