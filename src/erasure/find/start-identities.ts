import { z } from 'zod';
import { bodyOrMissing, type Service } from '../../client/service.ts';
import { AppError } from '../../core/errors.ts';
import { inBatches } from '../../core/batches.ts';
import { readIdentityOfPerson, rowReaders, sightingOf } from '../../contract/row-readers.ts';
import { personParams } from '../../contract/endpoints.ts';
import { readEnvelope } from '../../contract/tolerant-reader.ts';
import { identityOf, unionOf, type IdentifierKind, type Identity, type Sighting } from '../../contract/identity.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { Database } from '../../mirror/database.ts';
import { findPersons, findPersonsByEmail } from '../../mirror/sightings.ts';
import type { GivenIdentifier, Subject } from '../request/box.ts';
import { planStart, readShown, type MirroredOwner, type OwnerLook, type ShownPerson } from './start-plan.ts';

/** A subject that is to be found: how the request names it, what is known of it, and how the service has shown it. */
export type SoughtSubject = Pick<Subject, 'id' | 'identity'> & {
  given: readonly GivenIdentifier[];
  /** Null where the service has not been asked yet. */
  shown: readonly Sighting[] | null;
};

/**
 * Where the search for a subject begins: the identifiers that the request names, and how the service shows the person, now
 * or (`isOld`) when it was asked before.
 */
export type Start = {
  identity: Identity;
  shown: Sighting[];
  isOld: boolean;
  isAsked: boolean;
  /** The mirror has another person under the identifier, and the service does not tell whether both are the same. */
  isDoubted: boolean;
  /** How many persons have the identifier: as the service shows them, or else as the mirror has them. */
  persons: number;
};

/** What asking for subjects needs of a job's context. Without a service, only the mirror is asked. */
export type AskContext = Pick<JobContext, 'db' | 'service' | 'signal'>;

const atOnce = 8;
// The erasure here must not wait as long as retries would wait for a service that is down.
const patienceMs = 60_000;

/**
 * Asks mirror and service which person an identifier names. The named person is the subject, even if other persons had the
 * identifier before. The person whom the service shows under the identifier is named, even if the mirror has another person
 * there.
 */
export async function startIdentities(
  context: AskContext,
  subjects: readonly SoughtSubject[],
): Promise<Map<string, Start>> {
  const { db } = context;
  let { service } = context;
  /** Null where there is no service, or it gives up now: then the other subjects do not wait for it. */
  const ask = async <T>(question: (context: AskContext, service: Service) => Promise<T>): Promise<T | null> => {
    const answer = service ? await askPatiently(context, service, question) : null;
    if (answer === null) service = null;
    return answer;
  };
  const answers = await inBatches(subjects, { atOnce }, async ({ id, given, identity: known, shown: before }) => {
    const answer = before === null ? await ask((...asking) => askService(...asking, given)) : null;
    const shown = before ?? answer?.shown ?? [];
    const identity = unionOf([known, identityOfGiven(given), ...shown.map(personOf)]);
    const isOld = before !== null;
    return { id, given, identity, shown, isOld, isAsked: isOld || answer?.isWhole === true };
  });
  const ownersOf = findOwners(db, answers);
  const starts = await inBatches(answers, { atOnce }, async ({ id, given, identity, isOld, isAsked, ...answer }) => {
    const owners = given.flatMap((each) => ownersOf(each).map((owner) => ({ owner, given: each })));
    const others = owners.filter(({ owner }) => !identity.person_uuid.includes(owner.person_uuid));
    const looks: MirroredOwner[] = [];
    for (const { owner, given: each } of others) {
      const look = isAsked ? await ask((...asking) => lookAt(...asking, owner)) : null;
      looks.push({ uuid: owner.person_uuid, given: each, look: look ?? 'unknown' });
    }
    const { shown, named, isDoubted } = planStart(answer.shown, looks);
    const whole = unionOf([identity, ...shown.map(personOf), identityWith('person_uuid', named)]);
    const known = shown.length > 0 ? shown : owners.map(({ owner }) => owner);
    const uuids = new Set(known.map(({ person_uuid: uuid }) => uuid));
    const persons = whole.person_uuid.filter((uuid) => uuids.has(uuid)).length;
    return [id, { identity: whole, shown, isOld, isAsked, isDoubted, persons }] as const;
  });
  return new Map(starts);
}

/** A person of the mirror. */
type Owner = Sighting & { person_uuid: string };

/** Prepares the look-up of the persons whom the mirror has under an identifier. */
function findOwners(
  db: Database,
  starts: readonly { given: readonly GivenIdentifier[]; identity: Identity }[],
): (given: GivenIdentifier) => Owner[] {
  const emails = starts.flatMap(({ given }) => given).filter(({ kind }) => kind === 'email');
  const byEmail = findPersonsByEmail(db, [...new Set(emails.map(({ value }) => value))]);
  const mirrored = findPersons(
    db,
    unionOf([...starts.map(({ identity }) => identity), identityWith('person_uuid', [...byEmail.values()].flat())]),
  );
  const found = new Map<string, Owner>();
  for (const person of mirrored) {
    if (person.person_uuid === null) continue;
    const owner = { ...person, person_uuid: person.person_uuid };
    found.set(`uuid ${owner.person_uuid}`, owner);
    found.set(`id ${person.person_id}`, owner);
    for (const value of person.distinct_ids) found.set(`distinct_id ${value}`, owner);
  }
  return ({ kind, value }) => {
    const names = kind === 'email' ? (byEmail.get(value) ?? []).map((uuid) => `uuid ${uuid}`) : [`${kind} ${value}`];
    return names.flatMap((name) => found.get(name) ?? []);
  };
}

/** The answer to a question; null when the service does not answer, or refuses to. */
async function askPatiently<T>(
  context: AskContext,
  service: Service,
  question: (context: AskContext, service: Service) => Promise<T>,
): Promise<T | null> {
  const patience = AbortSignal.timeout(patienceMs);
  try {
    return await question({ ...context, signal: AbortSignal.any([context.signal, patience]) }, service);
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof AppError || patience.aborted) return null;
    throw error;
  }
}

/** The persons whom the service shows under the given identifiers, and whether each of its answers can be used. */
async function askService(
  context: AskContext,
  service: Service,
  given: readonly GivenIdentifier[],
): Promise<{ shown: Sighting[]; isWhole: boolean }> {
  const shown: Sighting[] = [];
  let isWhole = true;
  for (const each of given) {
    if (each.kind === 'recording') continue;
    const rows = await askFor(context, service, each);
    // A refusal is an answer, too: as documented, a person's path takes no uuid.
    const found = rows === 'rejected' ? [] : readShown(each, rows.map(readPerson));
    if (found) shown.push(...found);
    else isWhole = false;
  }
  return { shown, isWhole };
}

/** What the service says of a person of the mirror. A person that came back has the same uuid and another integer id. */
async function lookAt(context: AskContext, service: Service, owner: Owner): Promise<OwnerLook> {
  let look: OwnerLook = 'unknown';
  const asked = { id: owner.person_id, uuid: owner.person_uuid };
  for (const kind of ['id', 'uuid'] as const) {
    const value = asked[kind];
    if (value === null) continue;
    const rows = await askFor(context, service, { kind, value });
    if (rows === 'rejected') continue;
    const person = rows.length === 0 ? null : readPerson(rows[0]);
    if (person?.sighting.person_uuid === owner.person_uuid) return person;
    if (rows.length === 0) look = 'gone';
  }
  return look;
}

/** The rows that the service answers with; a 404 is an answer without any. */
async function askFor(
  { signal }: AskContext,
  service: Service,
  { kind, value }: GivenIdentifier,
): Promise<readonly unknown[] | 'rejected'> {
  try {
    if (kind === 'distinct_id' || kind === 'email') {
      const { body } = await service.call('persons.list', { query: { [kind]: value }, priority: 'deletion', signal });
      return readEnvelope(body).results;
    }
    const params = personParams(value);
    const body = await bodyOrMissing(service.call('persons.retrieve', { params, priority: 'deletion', signal }));
    return body === undefined ? [] : [body];
  } catch (error) {
    if (error instanceof AppError && error.code === 'rejected') return 'rejected';
    throw error;
  }
}

/** A person as a row shows them; null where the row does not identify a person. */
function readPerson(row: unknown): ShownPerson | null {
  const whole = rowReaders.persons(row);
  const person = whole.ok ? whole : readIdentityOfPerson(row);
  if (!person.ok) return null;
  const known = RowWithEmail.safeParse(row);
  return { email: known.success ? known.data.properties.email : null, sighting: sightingOf('persons', person.columns) };
}

const RowWithEmail = z.object({ properties: z.object({ email: z.string() }) });

/** Uuid and integer id of a person that the service shows. The closure decides about its distinct ids. */
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

function identityOfGiven(given: readonly GivenIdentifier[]): Identity {
  return unionOf(given.flatMap(({ kind, value }) => (kind === 'email' ? [] : [identityWith(kindOf[kind], [value])])));
}

function identityWith(kind: IdentifierKind, values: readonly string[]): Identity {
  return identityOf((each) => (each === kind ? values : []));
}
