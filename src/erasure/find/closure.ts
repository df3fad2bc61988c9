import { identifiersIn, identityOf, type Identifier, type Identity, type Sighting } from '../../contract/identity.ts';

/** The persons that live, as far as mirror and service tell, without the subjects of requests. */
export type LivingOthers = {
  isLiving: (personUuid: string) => boolean;
  /** The person, by uuid, that has a distinct id now. */
  ownerOf: (distinctId: string) => string | undefined;
  /** The persons, by uuid, that any row held shows with an e-mail address. */
  holdersOf: (email: string) => readonly string[];
};

/** What a search begins with, or goes on with: an identifier, or an e-mail address as `emailKey` spells it. */
type Lead = Identifier | { kind: 'email'; value: string };

/** All that a subject is known by, and where it was seen. */
export type Closure<Seen> = {
  identity: Identity;
  /** The subject's own rows. */
  own: Seen[];
  /** Rows of other living persons that name a distinct id of the subject. */
  naming: Seen[];
  /** The e-mail addresses that rows of the subject show, and the given ones, unless another living person had them too. */
  emails: ReadonlySet<string>;
  /** The living persons that have or had an identifier of the subject, which was left to them. */
  sharedWith: ReadonlySet<string>;
};

/** Where each identifier was seen. */
export type SightingIndex<Seen> = (lead: Lead) => readonly Seen[];

/** Prepares the look-up of sightings by any of their identifiers, and of nameless ones by their e-mail address. */
export function indexSightings<Seen extends Sighting>(sightings: Iterable<Seen>): SightingIndex<Seen> {
  const index = new Map<string, Map<string, Seen | Seen[]>>();
  for (const sighting of sightings)
    for (const { kind, value } of leadsTo(sighting)) {
      const ofKind = index.get(kind) ?? new Map<string, Seen | Seen[]>();
      index.set(kind, ofKind);
      const seen = ofKind.get(value);
      // Most identifiers of a large person are recordings that are seen once: a list of each would take more than its row.
      if (seen === undefined) ofKind.set(value, sighting);
      else if (Array.isArray(seen)) seen.push(sighting);
      else ofKind.set(value, [seen, sighting]);
    }
  return ({ kind, value }) => {
    const seen = index.get(kind)?.get(value) ?? [];
    return Array.isArray(seen) ? seen : [seen];
  };
}

/** Whether a row shows a person by an e-mail address, without uuid and integer id. */
export function isNameless({ person_uuid: uuid, person_id: id, email }: Sighting): boolean {
  return uuid === null && id === null && email !== undefined;
}

/** The distinct ids that a row shows its person with, without the one that a recording was made under. */
export function shownDistinctIds({ recording_id: recording, distinct_ids: distinctIds }: Sighting): readonly string[] {
  return recording === null ? distinctIds : distinctIds.slice(1);
}

function leadsTo(sighting: Sighting): Lead[] {
  const leads: Lead[] = identifiersOf(sighting);
  if (isNameless(sighting) && sighting.email !== undefined) leads.push({ kind: 'email', value: sighting.email });
  return leads;
}

/**
 * All identifiers of a subject: every identifier that was ever seen together with one that is known already, over all
 * history held. An identifier that another living person has now, or had before, is left to that person. An e-mail address
 * proves less: two persons can have the same one. It leads only to nameless rows, and to no row while another living person
 * has it or had it. Of a recording that it leads to, the distinct id that it was made under is not the subject's for that.
 * `former`: persons, by uuid, that were merged into the subject. `isUnasked`: nobody has asked for it; then a recording that any row
 * shows with another living person is left to that person.
 */
export function closeIdentity<Seen extends Sighting>(
  start: Identity & { email?: readonly string[]; former?: readonly string[] },
  seenWith: SightingIndex<Seen>,
  { isLiving, ownerOf, holdersOf }: LivingOthers,
  isUnasked = false,
): Closure<Seen> {
  const known: Record<Lead['kind'], Set<string>> = {
    person_uuid: new Set([...start.person_uuid, ...(start.former ?? [])]),
    person_id: new Set(start.person_id),
    distinct_id: new Set(start.distinct_id),
    recording_id: new Set(start.recording_id),
    email: new Set(start.email),
  };
  const isOther = (uuid: string): boolean => !known.person_uuid.has(uuid) && isLiving(uuid);
  const sharedWith = new Set<string>();
  const own = new Set<Seen>();
  const naming = new Set<Seen>();
  // Recordings that show no person, and were found by their id or an address: they tell only of themselves. The distinct id
  // that such a recording was made under may be any person's.
  const anonymous = new Set<Seen>();
  const formerly = (start.former ?? []).map((value): Identifier => ({ kind: 'person_uuid', value }));
  const frontier = [...identifiersIn(start), ...formerly];
  const emails = [...known.email];
  const learn = ({ kind, value }: Lead): void => {
    if (known[kind].has(value)) return;
    known[kind].add(value);
    if (kind === 'email') emails.push(value);
    else frontier.push({ kind, value });
  };
  const learnDistinctId = (value: string): void => {
    const owner = ownerOf(value);
    if (owner !== undefined && isOther(owner)) sharedWith.add(owner);
    else learn({ kind: 'distinct_id', value });
  };
  const isLeft = ({ recording_id: value }: Seen): boolean =>
    isUnasked &&
    value !== null &&
    seenWith({ kind: 'recording_id', value }).some(({ person_uuid: uuid }) => uuid !== null && isOther(uuid));
  const follow = (lead: Identifier): void => {
    for (const sighting of seenWith(lead)) {
      if (isLeft(sighting)) {
        naming.add(sighting);
        continue;
      }
      if (own.has(sighting) && !(anonymous.has(sighting) && lead.kind !== 'recording_id')) continue;
      if (sighting.person_uuid !== null && isOther(sighting.person_uuid)) {
        sharedWith.add(sighting.person_uuid);
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
      const isAnonymous = lead.kind === 'recording_id' && sighting.person_uuid === null && sighting.person_id === null;
      if (isAnonymous) anonymous.add(sighting);
      else anonymous.delete(sighting);
      const seen = isAnonymous ? { ...sighting, distinct_ids: [...shownDistinctIds(sighting)] } : sighting;
      for (const identifier of identifiersOf(seen))
        if (identifier.kind === 'distinct_id') learnDistinctId(identifier.value);
        else learn(identifier);
      if (sighting.email !== undefined && !isNameless(sighting)) learn({ kind: 'email', value: sighting.email });
    }
  };
  const followEmail = (value: string): void => {
    const nameless = seenWith({ kind: 'email', value });
    const holders = holdersOf(value).filter(isOther);
    if (holders.length > 0) {
      known.email.delete(value);
      // Also where every such row is the subject's by now: the order in which addresses are followed tells nothing.
      if (nameless.length > 0) for (const holder of holders) sharedWith.add(holder);
      return;
    }
    for (const sighting of nameless) {
      if (own.has(sighting)) continue;
      const owners = shownDistinctIds(sighting)
        .flatMap((value) => ownerOf(value) ?? [])
        .filter(isOther);
      for (const owner of owners) sharedWith.add(owner);
      if (owners.length > 0) continue;
      own.add(sighting);
      anonymous.add(sighting);
      for (const distinctId of shownDistinctIds(sighting)) learnDistinctId(distinctId);
      if (sighting.recording_id !== null) learn({ kind: 'recording_id', value: sighting.recording_id });
    }
  };
  // An integer id is never given to a second person: where the search begins with it and with no person, it names the subject,
  // even if the person has come back under another uuid since. An id that rows show on the way names nobody.
  if (start.person_uuid.length === 0)
    for (const sighting of start.person_id.flatMap((value) => seenWith({ kind: 'person_id', value })))
      if (sighting.person_uuid !== null) learn({ kind: 'person_uuid', value: sighting.person_uuid });
  for (;;) {
    const next = frontier.pop();
    // Addresses come last: then it is known which persons are the subject.
    const email = next ? undefined : emails.pop();
    if (next) follow(next);
    else if (email === undefined) break;
    else followEmail(email);
  }
  return {
    identity: identityOf((kind) => [...known[kind]].toSorted()),
    own: [...own],
    naming: [...naming],
    emails: known.email,
    sharedWith,
  };
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
