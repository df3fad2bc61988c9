import { z } from 'zod';

/** What a person, or a recording of one, is known by. Integer ids are kept as their decimal digits. */
export const identifierKinds = ['person_uuid', 'person_id', 'distinct_id', 'recording_id'] as const;
export type IdentifierKind = (typeof identifierKinds)[number];

/** One identifier. Personal data: never logged, never in an error, never in the ledger. */
export type Identifier = { kind: IdentifierKind; value: string };

const texts = z.array(z.string());

/**
 * Identifiers seen together in one row (a recording's own distinct id first), its texts, and the e-mail address of its person
 * as `emailKey` spells it: all personal data.
 */
export const Sighting = z.strictObject({
  person_uuid: z.string().nullable(),
  person_id: z.string().nullable(),
  distinct_ids: texts,
  recording_id: z.string().nullable(),
  values: texts,
  /** How many texts `values` has not, since their row has far more than are searched for; none unless given. */
  left_out: z.int().min(1).optional(),
  email: z.string().optional(),
});
export type Sighting = z.infer<typeof Sighting>;

/** Everything that one subject is known by, each value once. Uuids are in lower case. */
export type Identity = Readonly<Record<IdentifierKind, readonly string[]>>;

/** An identity that matches nobody. */
export const nobody: Identity = identityOf(() => []);

/** Everything that any of the identities is known by. */
export function unionOf(identities: Iterable<Identity>): Identity {
  const all = [...identities];
  return identityOf((kind) => {
    const [one = [], ...others] = all.map((identity) => identity[kind]).filter((values) => values.length > 0);
    if (others.length === 0) return one;
    const union = new Set(one);
    for (const values of others) for (const value of values) union.add(value);
    return [...union];
  });
}

/**
 * The identity by which rows are told to be somebody's own. Beside a uuid, an integer id names nobody: a service may use it again, for
 * a person with another uuid.
 */
export function withoutReusableId(identity: Identity): Identity {
  return identity.person_uuid.length === 0 ? identity : { ...identity, person_id: [] };
}

/** Live services show no more distinct ids of a person in a list. */
export const listedDistinctIdsMax = 1000;

/** Whether a person that a list shows with these distinct ids has one; null where the list may be cut, and cannot tell. */
export function holdsDistinctId(distinctIds: readonly string[], distinctId: string): boolean | null {
  if (distinctIds.includes(distinctId)) return true;
  return distinctIds.length < listedDistinctIdsMax ? false : null;
}

/** The distinct ids that a service can be asked for, all or at most so many. It takes an empty one for no question, and shows everybody. */
export function askableDistinctIds(distinctIds: readonly string[], most?: number): string[] {
  return distinctIds.filter((distinctId) => distinctId !== '').slice(0, most);
}

/** Every identifier of an identity. */
export function* identifiersIn(identity: Identity): Generator<Identifier> {
  for (const kind of identifierKinds) for (const value of identity[kind]) yield { kind, value };
}

/** An identity in parts of so many identifiers at most, each of one kind. */
export function* partsOf(identity: Identity, size: number): Generator<Identity> {
  for (const kind of identifierKinds)
    for (let first = 0; first < identity[kind].length; first += size)
      yield { ...nobody, [kind]: identity[kind].slice(first, first + size) };
}

/** An identity, from what it is known by of each kind. */
export function identityOf(valuesOf: (kind: IdentifierKind) => readonly string[]): Identity {
  return Object.fromEntries(identifierKinds.map((kind) => [kind, valuesOf(kind)])) as Record<IdentifierKind, string[]>;
}

/**
 * Whether a live service has a route for a recording's id: its routes end at `/` and at `.`. Without one it answers 404, and
 * says nothing of the recording.
 */
export function hasRoute(recordingId: string): boolean {
  return !/[/.]/.test(recordingId);
}
