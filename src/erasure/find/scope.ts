import { pausing, type Pause } from '../../core/pausing.ts';
import { identifierKinds, nobody, unionOf, type Identity, type Sighting } from '../../contract/identity.ts';
import { findFormerUuids, findLostDistinctIds, findMemberships, findPersons } from '../../mirror/sightings.ts';
import { findQuarantined, prepareNames, type QuarantinedSighting, unreadRows } from '../../mirror/quarantine.ts';
import type { FoundPart } from '../../snapshot/subject-rows.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { Box } from '../request/box.ts';
import { findNamelessRows, findShownEmails, holdersIn, seenIn, seenRows, type Seen } from './seen-rows.ts';
import {
  closeIdentity,
  identifiersOf,
  indexSightings,
  isNameless,
  type Closure,
  type LivingOthers,
} from './closure.ts';
import { meetStrangers } from './strangers.ts';
import { planSearchedTexts } from './searched-texts-plan.ts';
import { emailsOf } from './questions.ts';
import { startIdentities, type SoughtSubject, type Start } from './start-identities.ts';

/** A published file, and how many of its rows are about the subject or name it. */
type FileHit = Pick<FoundPart, 'dataset' | 'snapshotId' | 'name'> & { rows: number };

/** Where a subject is, in all that is held. */
export type Scope = Pick<Start, 'shown' | 'isAsked' | 'waitsFor'> & {
  /** The identifiers that the search began with. */
  start: Identity;
  identity: Identity;
  /** Whether mirror, files or service know the subject. */
  isFound: boolean;
  /** Some identifier is also a living person's, or may be. */
  isShared: boolean;
  /** The living persons, by uuid, that the given identifier names. */
  personsNamed: string[];
  /** The living persons, by uuid, that have or had an identifier of the subject. */
  sharedWith: string[];
  /** Rows of the mirror; of persons, at least as many as the given identifier names. */
  persons: number;
  recordings: number;
  quarantined: Pick<QuarantinedSighting, 'dataset' | 'rowId'>[];
  files: FileHit[];
  memberships: Box['memberships'];
  /** The texts of all those rows: what scans search for. */
  values: string[];
  /** How many texts there was no room for. */
  leftOut: number;
  createdAt: string | null;
};

/** Scopes by request, and what of the published files was searched for them. */
export type Scopes = { scopes: Map<string, Scope>; searched: { files: number; rows: number; bytes: number } };

/** What finding subjects needs of a job's context. */
export type ScopeContext = Pick<JobContext, 'db' | 'published' | 'settings' | 'service' | 'signal'>;

/** So many are looked up in some hundredths of a second. */
const recordingsAtOnce = 2_000;

/** Finds subjects in the mirror, at the service and in every published file, all of them together. Changes nothing. */
export async function scopeSubjects(context: ScopeContext, subjects: readonly SoughtSubject[]): Promise<Scopes> {
  const { db, signal } = context;
  const pause = pausing(signal);
  const searchedEmails = new Set(subjects.flatMap(({ given }) => emailsOf(given)));
  const shownEmails = await findShownEmails(context, searchedEmails);
  const starts = await startIdentities(context, subjects, shownEmails);
  // Where an identifier names several persons, not all of them have asked: for other subjects they are living persons.
  const isSubject = new Set(
    subjects.flatMap(({ id, isStaying = false }) => {
      const { identity = nobody, persons = [] } = starts.get(id) ?? {};
      return isStaying || persons.length > 1 ? [] : identity.person_uuid;
    }),
  );
  const begun = [...starts.values()].map(({ identity }) => identity);
  // Rows of a person that was merged into the subject may show nothing of it: the merge has taken the distinct ids.
  const former = new Map<string, string[]>();
  const rows = seenRows(context, begun);
  const unread = { persons: unreadRows(db, 'persons'), recordings: unreadRows(db, 'recordings') };
  const meet = meetStrangers(context);
  const met = new Map<string, Sighting | null>();
  let union = unionOf(begun);
  // Each round finds what the one before saw for the first time: a history can be a long chain, of a device and the next.
  for (;;) {
    signal.throwIfAborted();
    const holders = holdersIn(shownEmails);
    const persons = findPersons(db, unionOf([union, { ...nobody, person_uuid: [...holders.values()].flat() }]));
    // The subjects' distinct ids would be searched for in the next round.
    const uuids = new Set(union.person_uuid);
    const held = persons.flatMap((row) => (uuids.has(row.person_uuid ?? '') ? row.distinct_ids : []));
    await rows.search(unionOf([union, { ...nobody, distinct_id: held }]));
    rows.takeLeads(shownEmails.filter(isNameless));
    // Who has a distinct id now, persons in quarantine do not tell for sure.
    rows.takeLeads(unread.persons.filter(({ person_uuid: uuid }) => uuids.has(uuid ?? '')));
    const isSought = prepareNames(union);
    rows.takeLeads(unread.recordings.filter((row) => isSought(identifiersOf(row))));
    const shown = [...starts.values()].flatMap((start) => start.shown);
    const { seen, fold, unfold } = rows.read();
    await pause();
    const seenWith = indexSightings<Seen>([
      ...seenIn('person', persons),
      ...seenIn('service', shown),
      ...seenIn('lost', findLostDistinctIds(db, union)),
      ...seen,
    ]);
    const shownBy = (isOld: boolean): Sighting[] =>
      [...starts.values()].flatMap((start) => (start.isOld === isOld ? start.shown : []));
    // The mirror knows better than what the service once said, and less well than what it says now.
    const others = livingOthers(
      [...shownBy(true), ...persons, ...met.values().filter((one) => one !== null), ...shownBy(false)],
      isSubject,
      holders,
    );
    const closures = new Map(
      subjects.map(({ id, given, isUnasked }) => {
        const begin = fold(starts.get(id)?.identity ?? nobody);
        const identity = { ...begin, email: emailsOf(given), former: former.get(id) ?? [] };
        // A request for a recording alone is not about the person in it.
        const isRecording = given.every(({ kind }) => kind === 'recording');
        const closed = closeIdentity(
          identity,
          isRecording ? (of) => seenWith(of).map(withoutPerson) : seenWith,
          others,
          isUnasked,
        );
        return [id, { ...closed, identity: unfold(closed.identity) }];
      }),
    );
    await pause();
    for (const [id, { identity }] of closures)
      former.set(id, [...(former.get(id) ?? []), ...findFormerUuids(db, identity.person_uuid)]);
    const merged = { ...nobody, person_uuid: [...former.values()].flat() };
    const grown = unionOf([union, merged, ...[...closures.values()].map(({ identity }) => identity)]);
    await pause();
    const shownToo = closures.values().flatMap(({ emails }) => emails);
    const learned = new Set(shownToo.filter((email) => !searchedEmails.has(email)));
    for (const email of learned) searchedEmails.add(email);
    const namelessRows = await findNamelessRows(context, learned);
    shownEmails.push(...namelessRows);
    if (sizeOf(grown) > sizeOf(union) || namelessRows.length > 0) {
      union = grown;
      continue;
    }
    const known = new Set([...unionOf(begun).person_uuid, ...merged.person_uuid, ...met.keys()]);
    const strangers = closures
      .values()
      .flatMap(({ identity }) => identity.person_uuid.filter((uuid) => !known.has(uuid)));
    for (const uuid of new Set(strangers)) {
      const shownAs = seenWith({ kind: 'person_uuid', value: uuid });
      const [id = null] = shownAs.flatMap((seen) => seen.person_id ?? []);
      const distinctIds = [...new Set(shownAs.flatMap((seen) => seen.distinct_ids))];
      met.set(uuid, await meet({ uuid, id, distinctIds }));
    }
    if ([...met].some(([uuid, living]) => living !== null && !known.has(uuid))) continue;
    await pause();
    const quarantined = findQuarantined(db, grown, searchedEmails);
    const scopes = await scopesOf(subjects, { starts, closures, quarantined }, db, pause);
    return { scopes, searched: rows.searched() };
  }
}

/** The scopes of the subjects that were found, from all that the search has found of them. */
async function scopesOf(
  subjects: readonly SoughtSubject[],
  found: {
    starts: ReadonlyMap<string, Start>;
    closures: ReadonlyMap<string, Closure<Seen>>;
    quarantined: readonly QuarantinedSighting[];
  },
  db: ScopeContext['db'],
  pause: Pause,
): Promise<Map<string, Scope>> {
  const scopes = new Map<string, Scope>();
  for (const subject of subjects) {
    const closure = found.closures.get(subject.id);
    const start = found.starts.get(subject.id);
    if (!closure || !start) continue;
    const isNamed = prepareNames(closure.identity);
    const held = found.quarantined.filter(
      ({ identifiers, sure }) => isNamed(identifiers) || (isNameless(sure) && closure.emails.has(sure.email ?? '')),
    );
    const memberships: Scope['memberships'] = [];
    const { recording_id: ids } = closure.identity;
    for (let first = 0; first < ids.length; first += recordingsAtOnce) {
      memberships.push(...findMemberships(db, ids.slice(first, first + recordingsAtOnce)));
      await pause();
    }
    scopes.set(subject.id, scopeOf(subject.identity, start, closure, held, memberships));
    await pause();
  }
  return scopes;
}

function scopeOf(
  known: Identity,
  start: Start,
  { identity: closed, own, naming, sharedWith }: Closure<Seen>,
  quarantined: readonly QuarantinedSighting[],
  memberships: Scope['memberships'],
): Scope {
  const files = new Map<FoundPart, FileHit>();
  for (const { place, rows = 1 } of [...own, ...naming]) {
    if (typeof place === 'string') continue;
    const { dataset, snapshotId, name } = place;
    const hit = files.get(place) ?? { dataset, snapshotId, name, rows: 0 };
    files.set(place, { ...hit, rows: hit.rows + rows });
  }
  const persons = own.filter(({ place }) => place === 'person');
  const places = own.filter(({ place }) => place !== 'lost' && place !== 'lead');
  // A row that names nobody comes again with every pass: the fence knows it by what it is kept under.
  const keys = quarantined.flatMap(({ sure, rowId }) => (isNameless(sure) ? rowId : []));
  const identity = unionOf([closed, { ...nobody, distinct_id: keys }]);
  const texts = planSearchedTexts(identity, places, quarantined);
  // Rows can have their texts in common, and the same row can stand in the mirror, in several files, and at the service: what is left
  // out of it counts once.
  const dropped = new Map(
    places.map(({ kept, values, left_out: left = 0 }) => [kept ?? values.join('\0'), kept?.dropped() ?? left]),
  );
  return {
    start: start.identity,
    identity,
    shown: start.shown,
    isAsked: start.isAsked,
    waitsFor: start.waitsFor,
    isShared: sharedWith.size > 0 || start.isDoubted,
    personsNamed: start.persons,
    sharedWith: [...sharedWith].toSorted(),
    isFound: places.length + quarantined.length + start.shown.length + sizeOf(known) > 0,
    persons: Math.max(persons.length, start.persons.length),
    recordings: own.reduce((sum, { place, rows = 1 }) => sum + (place === 'recording' ? rows : 0), 0),
    quarantined: quarantined.map(({ dataset, rowId }) => ({ dataset, rowId })),
    files: [...files.values()],
    memberships,
    values: texts.values,
    leftOut: [...dropped.values()].reduce((sum, left) => sum + left, texts.leftOut),
    // A person that came back has a later time: the newest life counts.
    createdAt:
      persons
        .map(({ createdAt }) => createdAt ?? '')
        .toSorted()
        .at(-1) || null,
  };
}

function withoutPerson(seen: Seen): Seen {
  return { ...seen, person_uuid: null, person_id: null, distinct_ids: [] };
}

function livingOthers(
  current: readonly Sighting[],
  isSubject: ReadonlySet<string>,
  holders: ReadonlyMap<string, readonly string[]>,
): LivingOthers {
  const living = new Set(current.flatMap(({ person_uuid: uuid }) => uuid ?? []));
  const owners = new Map(
    current.flatMap(({ person_uuid: uuid, distinct_ids: distinctIds }) =>
      uuid === null ? [] : distinctIds.map((distinctId): [string, string] => [distinctId, uuid]),
    ),
  );
  return {
    isLiving: (uuid) => living.has(uuid) && !isSubject.has(uuid),
    ownerOf: (distinctId) => owners.get(distinctId),
    holdersOf: (email) => holders.get(email) ?? [],
  };
}

function sizeOf(identity: Identity): number {
  return identifierKinds.reduce((sum, kind) => sum + identity[kind].length, 0);
}
