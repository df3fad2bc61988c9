import {
  identifierKinds,
  identityOf,
  type Identifier,
  type IdentifierKind,
  type Identity,
  type Sighting,
} from '../../contract/identity.ts';

/** The persons that live, as far as mirror and service tell, without the subjects of requests. */
export type LivingOthers = {
  isLiving: (personUuid: string) => boolean;
  /** The person, by uuid, that has a distinct id now. */
  ownerOf: (distinctId: string) => string | undefined;
};

/** All that a subject is known by, and where it was seen. */
export type Closure<Seen> = {
  identity: Identity;
  /** The subject's own rows. */
  own: Seen[];
  /** Rows of other living persons that name a distinct id of the subject. */
  naming: Seen[];
  /** Some identifier is also a living person's, and was left to that person. */
  isShared: boolean;
};

/** Where each identifier was seen. */
export type SightingIndex<Seen> = (identifier: Identifier) => readonly Seen[];

/** Prepares the look-up of sightings by any of their identifiers. */
export function indexSightings<Seen extends Sighting>(sightings: Iterable<Seen>): SightingIndex<Seen> {
  const index = new Map<string, Seen[]>();
  for (const sighting of sightings)
    for (const identifier of identifiersOf(sighting)) {
      const name = nameOf(identifier);
      const seen = index.get(name);
      if (seen) seen.push(sighting);
      else index.set(name, [sighting]);
    }
  return (identifier) => index.get(nameOf(identifier)) ?? [];
}

/**
 * All identifiers of a subject: every identifier that was ever seen together with one that is known already, over all
 * history held. An identifier that another living person has now, or had before, is left to that person.
 */
export function closeIdentity<Seen extends Sighting>(
  start: Identity,
  seenWith: SightingIndex<Seen>,
  { isLiving, ownerOf }: LivingOthers,
): Closure<Seen> {
  const known: Record<IdentifierKind, Set<string>> = {
    person_uuid: new Set(start.person_uuid),
    person_id: new Set(start.person_id),
    distinct_id: new Set(start.distinct_id),
    recording_id: new Set(start.recording_id),
  };
  const isOther = (uuid: string | undefined | null): boolean =>
    uuid !== undefined && uuid !== null && !known.person_uuid.has(uuid) && isLiving(uuid);
  let isShared = false;
  const own = new Set<Seen>();
  const naming = new Set<Seen>();
  const frontier: Identifier[] = identifierKinds.flatMap((kind) => start[kind].map((value) => ({ kind, value })));
  const learn = ({ kind, value }: Identifier): void => {
    if (known[kind].has(value)) return;
    known[kind].add(value);
    frontier.push({ kind, value });
  };
  for (let next = frontier.pop(); next; next = frontier.pop())
    for (const sighting of seenWith(next)) {
      if (own.has(sighting)) continue;
      if (isOther(sighting.person_uuid)) {
        isShared = true;
        // A recording under the subject's distinct id is the subject's, even if the service shows another person with it.
        const [recordedUnder = ''] = sighting.distinct_ids;
        const { recording_id: value } = sighting;
        if (value !== null && (known.recording_id.has(value) || known.distinct_id.has(recordedUnder))) {
          naming.delete(sighting);
          own.add(sighting);
          learn({ kind: 'recording_id', value });
        } else naming.add(sighting);
        continue;
      }
      own.add(sighting);
      for (const identifier of identifiersOf(sighting))
        if (identifier.kind === 'distinct_id' && isOther(ownerOf(identifier.value))) isShared = true;
        else learn(identifier);
    }
  return { identity: identityOf((kind) => [...known[kind]].toSorted()), own: [...own], naming: [...naming], isShared };
}

function nameOf({ kind, value }: Identifier): string {
  return `${kind}\0${value}`;
}

/** The identifiers of a row. */
export function identifiersOf(seen: Sighting): Identifier[] {
  return [
    ...(seen.person_uuid === null ? [] : [{ kind: 'person_uuid', value: seen.person_uuid } as const]),
    ...(seen.person_id === null ? [] : [{ kind: 'person_id', value: seen.person_id } as const]),
    ...(seen.recording_id === null ? [] : [{ kind: 'recording_id', value: seen.recording_id } as const]),
    ...seen.distinct_ids.map((value) => ({ kind: 'distinct_id', value }) as const),
  ];
}

/** Whether a row is about an identity, or names one of its distinct ids. */
export function concerns(identity: Identity, seen: Sighting): boolean {
  return identifiersOf(seen).some(({ kind, value }) => identity[kind].includes(value));
}
