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

/** What a subject is sought by: its identifiers, its e-mail addresses, and the persons, by uuid, that were merged into it. */
type Sought = Identity & { email?: readonly string[]; former?: readonly string[] };

/**
 * All identifiers of a subject: every identifier that was ever seen together with one that is known already, over all
 * history held. An identifier that another living person has now, or had before, is left to that person. An e-mail address
 * proves less: two persons can have the same one. It leads only to nameless rows, and to no row while another living person
 * has it or had it. Of a recording that it leads to, the distinct id that it was made under is not the subject's for that.
 * `former`: persons, by uuid, that were merged into the subject. `isUnasked`: nobody has asked for it; then a recording that any row
 * shows with another living person is left to that person.
 */
export function closeIdentity<Seen extends Sighting>(
  start: Sought,
  seenWith: SightingIndex<Seen>,
  others: LivingOthers,
  isUnasked = false,
): Closure<Seen> {
  const search = { ...beginSearch(start, seenWith, isUnasked), ...others };
  // Where the search begins with an integer id and with no person, whoever has it is the subject.
  if (start.person_uuid.length === 0)
    for (const sighting of start.person_id.flatMap((value) => seenWith({ kind: 'person_id', value })))
      if (sighting.person_uuid !== null) learn(search, { kind: 'person_uuid', value: sighting.person_uuid });
  for (;;) {
    const next = search.frontier.pop();
    // Addresses come last: then it is known which persons are the subject.
    const email = next ? undefined : search.emails.pop();
    if (next) follow(search, next);
    else if (email === undefined) break;
    else followEmail(search, email);
  }
  return {
    identity: identityOf((kind) => [...search.known[kind]].toSorted()),
    own: [...search.own],
    naming: [...search.naming],
    emails: search.known.email,
    sharedWith: search.sharedWith,
  };
}

/** A search for a subject: what is known, where it was seen, and the leads that are still to be followed. */
type Search<Seen extends Sighting> = ReturnType<typeof beginSearch<Seen>> & LivingOthers;

/** The part of a search that knows no rows. */
type Learnt = Omit<Search<Sighting>, 'seenWith' | 'own' | 'naming' | 'anonymous'>;

function beginSearch<Seen extends Sighting>(start: Sought, seenWith: SightingIndex<Seen>, isUnasked: boolean) {
  const { former = [] } = start;
  const known: Record<Lead['kind'], Set<string>> = {
    person_uuid: new Set([...start.person_uuid, ...former]),
    person_id: new Set(start.person_id),
    distinct_id: new Set(start.distinct_id),
    recording_id: new Set(start.recording_id),
    email: new Set(start.email),
  };
  return {
    seenWith,
    isUnasked,
    known,
    sharedWith: new Set<string>(),
    own: new Set<Seen>(),
    naming: new Set<Seen>(),
    // Recordings that show no person, and were found by their id or an address: they tell only of themselves. The distinct id
    // that such a recording was made under may be any person's.
    anonymous: new Set<Seen>(),
    frontier: [...identifiersIn(start), ...former.map((value): Identifier => ({ kind: 'person_uuid', value }))],
    emails: [...known.email],
  };
}

function isOther({ known, isLiving }: Learnt, uuid: string): boolean {
  return !known.person_uuid.has(uuid) && isLiving(uuid);
}

function learn({ known, emails, frontier }: Learnt, { kind, value }: Lead): void {
  if (known[kind].has(value)) return;
  known[kind].add(value);
  if (kind === 'email') emails.push(value);
  else frontier.push({ kind, value });
}

function learnDistinctId(learnt: Learnt, value: string): void {
  const owner = learnt.ownerOf(value);
  if (owner !== undefined && isOther(learnt, owner)) learnt.sharedWith.add(owner);
  else learn(learnt, { kind: 'distinct_id', value });
}

/**
 * The living person, by uuid, to whom a row of a recording is left, since some row shows the recording with another person who lives: where
 * nobody has asked, that one; else the one to whom the distinct id was left that it was made under. Undefined where it is left to nobody.
 */
function leftTo<Seen extends Sighting>(
  search: Search<Seen>,
  { recording_id: value, distinct_ids }: Seen,
): string | undefined {
  if (value === null) return undefined;
  const [recordedUnder = ''] = distinct_ids;
  const owner = search.known.distinct_id.has(recordedUnder) ? undefined : search.ownerOf(recordedUnder);
  if (!search.isUnasked && (owner === undefined || !isOther(search, owner))) return undefined;
  const shown = search.seenWith({ kind: 'recording_id', value }).map(({ person_uuid: uuid }) => uuid ?? '');
  const other = shown.find((uuid) => isOther(search, uuid));
  return search.isUnasked || other === undefined ? other : owner;
}

function follow<Seen extends Sighting>(search: Search<Seen>, lead: Identifier): void {
  const { own, naming, anonymous } = search;
  for (const sighting of search.seenWith(lead)) {
    const { person_uuid: uuid } = sighting;
    // A service that was restored gives integer ids again: on the way, an id tells nothing of a row that shows another person.
    if (lead.kind === 'person_id' && uuid !== null && !search.known.person_uuid.has(uuid)) continue;
    const holder = leftTo(search, sighting);
    if (holder !== undefined) {
      naming.add(sighting);
      if (!search.isUnasked) search.sharedWith.add(holder);
    } else if (own.has(sighting) && !(anonymous.has(sighting) && lead.kind !== 'recording_id')) continue;
    else if (uuid !== null && isOther(search, uuid)) takeOfOther(search, sighting, uuid);
    else takeOwn(search, sighting, lead);
  }
}

/** Takes a row that shows another living person. */
function takeOfOther<Seen extends Sighting>(search: Search<Seen>, sighting: Seen, uuid: string): void {
  const { known, own, naming, sharedWith } = search;
  sharedWith.add(uuid);
  // A recording under the subject's distinct id is the subject's, even if the service shows another person with it.
  const [recordedUnder = ''] = sighting.distinct_ids;
  const { recording_id: value } = sighting;
  if (value !== null && (known.recording_id.has(value) || known.distinct_id.has(recordedUnder))) {
    naming.delete(sighting);
    own.add(sighting);
    learn(search, { kind: 'recording_id', value });
  } else naming.add(sighting);
}

function takeOwn<Seen extends Sighting>(search: Search<Seen>, sighting: Seen, lead: Identifier): void {
  const { own, anonymous } = search;
  own.add(sighting);
  const isAnonymous = lead.kind === 'recording_id' && sighting.person_uuid === null && sighting.person_id === null;
  if (isAnonymous) anonymous.add(sighting);
  else anonymous.delete(sighting);
  const seen = isAnonymous ? { ...sighting, distinct_ids: [...shownDistinctIds(sighting)] } : sighting;
  for (const identifier of identifiersOf(seen))
    if (identifier.kind === 'distinct_id') learnDistinctId(search, identifier.value);
    else learn(search, identifier);
  if (sighting.email !== undefined && !isNameless(sighting)) learn(search, { kind: 'email', value: sighting.email });
}

function followEmail<Seen extends Sighting>(search: Search<Seen>, value: string): void {
  const { known, own, anonymous, sharedWith } = search;
  const nameless = search.seenWith({ kind: 'email', value });
  const holders = search.holdersOf(value).filter((uuid) => isOther(search, uuid));
  if (holders.length > 0) {
    known.email.delete(value);
    // Also where every such row is the subject's by now: the order in which addresses are followed tells nothing.
    if (nameless.length > 0) for (const holder of holders) sharedWith.add(holder);
    return;
  }
  for (const sighting of nameless) {
    if (own.has(sighting)) continue;
    const owners = shownDistinctIds(sighting)
      .flatMap((value) => search.ownerOf(value) ?? [])
      .filter((uuid) => isOther(search, uuid));
    const holder = leftTo(search, sighting);
    if (holder !== undefined && !search.isUnasked) owners.push(holder);
    for (const owner of owners) sharedWith.add(owner);
    if (owners.length > 0 || holder !== undefined) continue;
    own.add(sighting);
    anonymous.add(sighting);
    for (const distinctId of shownDistinctIds(sighting)) learnDistinctId(search, distinctId);
    if (sighting.recording_id !== null) learn(search, { kind: 'recording_id', value: sighting.recording_id });
  }
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
