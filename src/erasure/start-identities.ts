import type { Service } from '../client/service.ts';
import { AppError } from '../core/errors.ts';
import { bodyOrMissing } from '../client/body-or-missing.ts';
import { readEnvelope } from '../contract/envelope.ts';
import { identityOf, unionOf, type IdentifierKind, type Identity } from '../contract/identity.ts';
import { textListOf } from '../contract/tolerant-reader.ts';
import type { Database } from '../mirror/database.ts';
import { readIdentityOfPerson, rowReaders } from '../mirror/row-readers.ts';
import { findPersons, findPersonsByEmail, type Sighting } from '../mirror/sightings.ts';
import type { GivenIdentifier } from './box.ts';

/** A subject that is to be found: how it was named, and what is known of it already. */
export type Subject = {
  id: string;
  given: readonly GivenIdentifier[];
  known: Identity;
  /** How the service showed it when it was asked; null before. */
  shown: readonly Sighting[] | null;
};

/**
 * Where the search for a subject begins: who it was named as, and how the service shows that person, now or (`isOld`) when
 * it was asked.
 */
export type Start = { identity: Identity; shown: Sighting[]; isOld: boolean; isAsked: boolean };

/** What asking for subjects needs. Without a service, only the mirror is asked. */
export type AskParts = { db: Database; service: Service | null; signal: AbortSignal };

const atOnce = 8;
// What is erased here must not wait for a service that is down, and that retries would wait for.
const patienceMs = 60_000;

/** Asks mirror and service who is meant. A person who is named is the subject, whoever else has lived under the name. */
export async function startIdentities(
  parts: AskParts,
  subjects: readonly Subject[],
): Promise<Map<string, Start>> {
  const { db } = parts;
  const starts = new Map<string, Start>();
  let { service } = parts;
  for (let first = 0; first < subjects.length; first += atOnce)
    await Promise.all(
      subjects.slice(first, first + atOnce).map(async ({ id, given, known, shown: before }) => {
        const shown = before ?? (service ? await askPatiently(parts, service, given) : []);
        if (shown === undefined) service = null;
        const identity = unionOf([known, named(given), ...(shown ?? []).map(personOf)]);
        starts.set(id, {
          identity,
          shown: [...(shown ?? [])],
          isOld: before !== null,
          isAsked: before !== null || (service !== null && shown !== undefined),
        });
      }),
    );
  const emails = subjects.flatMap(({ given }) => given).filter(({ kind }) => kind === 'email');
  const byEmail = findPersonsByEmail(db, [...new Set(emails.map(({ value }) => value))]);
  const mirrored = findPersons(db, unionOf([...starts.values()].map(({ identity }) => identity)));
  const byIdentifier = new Map<string, Sighting>();
  for (const person of mirrored) {
    byIdentifier.set(`person_id ${person.person_id}`, person);
    for (const value of person.distinct_ids) byIdentifier.set(`distinct_id ${value}`, person);
  }
  for (const { id, given } of subjects) {
    const start = starts.get(id);
    if (!start) continue;
    const meant = given.flatMap(({ kind, value }) => {
      if (kind === 'email') return byEmail.get(value) ?? [];
      const person = byIdentifier.get(`${kind === 'id' ? 'person_id' : kind} ${value}`);
      return person?.person_uuid ?? [];
    });
    starts.set(id, { ...start, identity: unionOf([start.identity, identityWith('person_uuid', meant)]) });
  }
  return starts;
}

/** As `askService`; undefined when the service does not answer, or refuses to. */
async function askPatiently(
  parts: AskParts,
  service: Service,
  given: readonly GivenIdentifier[],
): Promise<Sighting[] | undefined> {
  const patience = AbortSignal.timeout(patienceMs);
  try {
    return await askService({ ...parts, signal: AbortSignal.any([parts.signal, patience]) }, service, given);
  } catch (error) {
    parts.signal.throwIfAborted();
    // A refusal of the one request is an answer: as documented, a person's path takes no uuid.
    if (error instanceof AppError && error.code === 'rejected') return [];
    if (error instanceof AppError || patience.aborted) return undefined;
    throw error;
  }
}

/** The persons whom the service shows under what was given; a 404 shows nobody. */
async function askService(
  { signal }: AskParts,
  service: Service,
  given: readonly GivenIdentifier[],
): Promise<Sighting[]> {
  const shown: Sighting[] = [];
  for (const { kind, value } of given) {
    if (kind === 'recording') continue;
    const isFilter = kind === 'distinct_id' || kind === 'email';
    const body = await bodyOrMissing(
      isFilter
        ? service.call('persons.list', { query: { [kind]: value }, priority: 'deletion', signal })
        : // Live services take the uuid in the integer's place.
          service.call('persons.retrieve', { params: { id: value as never }, priority: 'deletion', signal }),
    );
    const found = body === undefined ? [] : isFilter ? readEnvelope(body).results : [body];
    for (const row of found) {
      const whole = rowReaders.persons(row);
      const person = whole.ok ? whole : readIdentityOfPerson(row);
      if (!person.ok) continue;
      const { uuid, id, name, properties, extra, distinct_ids: distinctIds } = person.columns;
      if (kind === 'uuid' && uuid !== value) continue;
      shown.push({
        person_uuid: String(uuid),
        person_id: id === null || id === undefined ? null : String(id),
        distinct_ids: textListOf(distinctIds) ?? [],
        recording_id: null,
        values: [name, properties, extra].filter((text) => typeof text === 'string'),
      });
    }
  }
  return shown;
}

/** Of what the service shows, the person; its distinct ids are for the closure to judge. */
function personOf({ person_uuid: uuid, person_id: id }: Sighting): Identity {
  return unionOf([
    identityWith('person_uuid', uuid === null ? [] : [uuid]),
    identityWith('person_id', id === null ? [] : [id]),
  ]);
}

const kindOf: Readonly<Record<Exclude<GivenIdentifier['kind'], 'email'>, IdentifierKind>> = {
  uuid: 'person_uuid',
  id: 'person_id',
  distinct_id: 'distinct_id',
  recording: 'recording_id',
};

function named(given: readonly GivenIdentifier[]): Identity {
  return unionOf(
    given.flatMap(({ kind, value }) => (kind === 'email' ? [] : [identityWith(kindOf[kind], [value])])),
  );
}

function identityWith(kind: IdentifierKind, values: readonly string[]): Identity {
  return identityOf((each) => (each === kind ? values : []));
}
