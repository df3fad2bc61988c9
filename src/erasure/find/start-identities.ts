import { isOfOneRow, ofOneRow } from '../../client/control.ts';
import { askDatabase, askForDistinctId, askForEmail } from '../../client/person-batches.ts';
import { bodyOrMissing, isSingleCase, singleCasesMax, type Service } from '../../client/service.ts';
import { AppError } from '../../core/errors.ts';
import { inBatches } from '../../core/batches.ts';
import { readIdentityOfPerson, rowReaders, sightingOf } from '../../contract/row-readers.ts';
import { personParams } from '../../contract/endpoints.ts';
import { emailKey, emailOf } from '../../contract/email.ts';
import { nobody, unionOf, type IdentifierKind, type Identity, type Sighting } from '../../contract/identity.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { WaitReason } from '../../ledger/vocabulary.ts';
import { waitReasonOf } from '../request/waits.ts';
import { askPatiently } from '../ask-service.ts';
import type { Database } from '../../mirror/database.ts';
import { unreadRows } from '../../mirror/quarantine.ts';
import { findPersons } from '../../mirror/sightings.ts';
import { holdersOf, type BoxContext, type GivenIdentifier, type Subject } from '../request/box.ts';
import { listRequests } from '../../mirror/erasure-requests.ts';
import { shownDistinctIds } from './closure.ts';
import { emailsOf, questionsOf, type EmailRows } from './questions.ts';
import { planStart, readShown, type MirroredOwner, type OwnerLook } from './start-plan.ts';

/** A subject that is to be found: how the request names it, what is known of it, and how the service has shown it. */
export type SoughtSubject = Pick<Subject, 'id' | 'identity'> & {
  given: readonly GivenIdentifier[];
  /** Null where the service has not been asked yet. */
  shown: readonly Sighting[] | null;
  /** Whether the person stays for now, so that it is a living person to the other subjects. */
  isStaying?: boolean;
  /** Whether nobody has asked for it: the service has deleted the person by itself. */
  isUnasked?: boolean;
};

/**
 * Where the search for a subject begins: the identifiers that the request names, and how the service shows the person, now
 * or (`isOld`) when it was asked before.
 */
export type Start = {
  identity: Identity;
  shown: Sighting[];
  isOld: boolean;
  /** Whether the service has been asked. */
  isAsked: boolean;
  /** Why the service gave no answer; null where it did. */
  waitsFor: WaitReason | null;
  /** The mirror has another person under the identifier, and the service does not tell whether both are the same. */
  isDoubted: boolean;
  /** The persons, by uuid, that have the identifier: as the service shows them, or else as the mirror has them. */
  persons: string[];
};

/** What asking for subjects needs of a job's context. Without a service, only the mirror is asked. */
export type AskContext = Pick<JobContext, 'db' | 'service' | 'signal'> & BoxContext;

const atOnce = 8;

/**
 * Asks mirror and service which person an identifier names. The named person is the subject, even if other persons had the
 * identifier before. The person that the service shows under the identifier is named, even if the mirror has another person
 * there. An e-mail address names every person that `shownEmails`, the rows held that show it, has ever shown with it, and whom it
 * named before, while the service could not be asked.
 */
export async function startIdentities(
  context: AskContext,
  subjects: readonly SoughtSubject[],
  shownEmails: readonly Sighting[],
): Promise<Map<string, Start>> {
  const { db } = context;
  let { service } = context;
  let singleCases = 0;
  let failure: WaitReason = service === null ? 'no_service' : 'service_unusable';
  /** Null where there is no service, or it gives up now: then the other subjects do not wait for it. */
  const ask = async <T>(question: (context: AskContext, service: Service) => Promise<T>): Promise<T | null> => {
    // Whom the service was not asked for has not failed.
    if (service === null && singleCases >= singleCasesMax) failure = 'service_unreachable';
    if (service === null) return null;
    return await askPatiently(context, service, question, (error) => {
      failure = waitReasonOf(error);
      // An answer to one question alone says nothing of the others.
      if (!isOfOneRow(error) && (!isSingleCase(error) || (singleCases += 1) >= singleCasesMax)) service = null;
    });
  };
  const rowsOf: EmailRows = Map.groupBy(shownEmails, ({ email }) => email);
  // The persons, by uuid, that open requests name because each has a distinct id of a subject, and these ids.
  const toldOf = new Map<string, string>();
  for (const { id } of listRequests(db, 'open'))
    for (const [uuid, distinctId] of holdersOf(context, id)) toldOf.set(uuid, distinctId);
  const answers = await inBatches(subjects, { atOnce }, async ({ id, given, identity: known, shown: before }) => {
    const answer =
      before === null ? await ask((...asking) => askService(...asking, questionsOf(given, rowsOf), toldOf)) : null;
    const shown = before ?? answer?.shown ?? [];
    const identity = unionOf([known, identityOfGiven(given), ...shown.map(personOf)]);
    const isOld = before !== null;
    const waitsFor = isOld ? null : answer ? answer.waitsFor : failure;
    return { id, given, identity, shown, isOld, isAsked: waitsFor === null, waitsFor };
  });
  const ownersOf = findOwners(db, answers, rowsOf);
  const starts = await inBatches(answers, { atOnce }, async ({ id, given, identity, isOld, isAsked, ...answer }) => {
    const before = isOld ? [] : identity.person_uuid;
    const owners = given.flatMap((each) => ownersOf(each, before).map((owner) => ({ owner, given: each })));
    // What rows without a uuid show with an e-mail address.
    const nameless = unionOf(emailsOf(given).flatMap((email) => (rowsOf.get(email) ?? []).map(identityOfNameless)));
    const told = isOld ? identity.person_uuid : answer.shown.map(({ person_uuid: uuid }) => uuid);
    const others = owners.filter(
      ({ owner: { person_uuid: uuid }, given: { kind } }) =>
        !(kind === 'email' ? told : identity.person_uuid).includes(uuid),
    );
    const looks: MirroredOwner[] = [];
    for (const { owner, given: each } of others) {
      const look = isAsked ? await ask((...asking) => lookAt(...asking, owner)) : null;
      looks.push({ uuid: owner.person_uuid, given: each, look: look ?? 'unknown' });
    }
    const { shown, named, living, isDoubted } = planStart(answer.shown, looks);
    const whole = unionOf([identity, nameless, ...shown.map(personOf), { ...nobody, person_uuid: named }]);
    const known = shown.length > 0 ? shown : owners.flatMap(({ owner }) => (owner.isMirrored ? owner : []));
    const uuids = new Set([...known.map(({ person_uuid: uuid }) => uuid), ...living]);
    const persons = whole.person_uuid.filter((uuid) => uuids.has(uuid));
    const { waitsFor } = answer;
    return [id, { identity: whole, shown, isOld, isAsked, waitsFor, isDoubted, persons }] as const;
  });
  return new Map(starts);
}

/** A person of the mirror, or one that only other rows held show. */
type Owner = Sighting & { person_uuid: string; isMirrored: boolean };

/** Prepares the look-up of the persons that the mirror has under an identifier, or that rows show with an e-mail address. */
function findOwners(
  db: Database,
  starts: readonly { given: readonly GivenIdentifier[]; identity: Identity }[],
  rowsOf: EmailRows,
): (given: GivenIdentifier, before: readonly string[]) => Owner[] {
  const shownEmails = [...rowsOf.values()].flat();
  const found = new Map<string, Owner>();
  const add = (person: Sighting, isMirrored: boolean): void => {
    if (person.person_uuid === null) return;
    const owner = { ...person, person_uuid: person.person_uuid, isMirrored };
    found.set(`uuid ${owner.person_uuid}`, owner);
    if (!isMirrored) return;
    found.set(`id ${person.person_id}`, owner);
    for (const value of person.distinct_ids) found.set(`distinct_id ${value}`, owner);
  };
  for (const row of shownEmails) add(row, false);
  const uuids = shownEmails.flatMap(({ person_uuid: uuid }) => uuid ?? []);
  const inRows = unionOf([{ ...nobody, person_uuid: uuids }, ...shownEmails.map(identityOfNameless)]);
  const named = unionOf([...starts.map(({ identity }) => identity), inRows]);
  for (const person of [...unreadRows(db, 'persons'), ...findPersons(db, named)]) add(person, true);
  return ({ kind, value }, before) => {
    if (kind !== 'email') return [found.get(`${kind} ${value}`) ?? []].flat();
    const names = (rowsOf.get(emailKey(value)) ?? []).flatMap((row) => {
      if (row.person_uuid !== null) return `uuid ${row.person_uuid}`;
      const { person_id: ids, distinct_id: distinctIds } = identityOfNameless(row);
      return ids.map((id) => `id ${id}`).concat(distinctIds.map((id) => `distinct_id ${id}`));
    });
    const earlier = before.map((uuid) => found.get(`uuid ${uuid}`) ?? lostOwner(uuid));
    return [...new Set([...names.flatMap((name) => found.get(name) ?? []), ...earlier])];
  };
}

/** A person whom an address named before, and who is in no row held any more. */
export function lostOwner(uuid: string): Owner {
  return { person_uuid: uuid, person_id: null, distinct_ids: [], recording_id: null, values: [], isMirrored: false };
}

function identityOfNameless(row: Sighting): Identity {
  if (row.person_uuid !== null) return nobody;
  return { ...nobody, person_id: row.person_id === null ? [] : [row.person_id], distinct_id: shownDistinctIds(row) };
}

/** The persons that the service shows under the given identifiers, and why not each of its answers can be used. */
async function askService(
  context: AskContext,
  service: Service,
  given: readonly GivenIdentifier[],
  toldOf: ReadonlyMap<string, string>,
): Promise<{ shown: Sighting[]; waitsFor: WaitReason | null }> {
  const shown: Sighting[] = [];
  let waitsFor: WaitReason | null = null;
  let rejected = 0;
  /**
   * As documented, a person's path takes no uuid. Then the person is asked for by the integer id that the mirror has, or by the
   * distinct id because of which another request names it.
   */
  const askOtherwise = async ({ kind, value }: GivenIdentifier): Promise<Sighting[] | undefined> => {
    if (kind !== 'uuid') return [];
    const [mirrored] = findPersons(context.db, { ...nobody, person_uuid: [value] });
    const known = mirrored?.person_id ?? toldOf.get(value);
    if (known === undefined) return [];
    const asked = { kind: mirrored?.person_id ? 'id' : 'distinct_id', value: known } as const;
    const rows = await askFor(context, service, asked);
    const found = rows === 'rejected' ? [] : rows && readShown(asked, rows.map(readPerson));
    return found?.filter(({ person_uuid: uuid }) => uuid === value);
  };
  for (const each of given) {
    if (each.kind === 'recording') continue;
    const rows = await askFor(context, service, each);
    if (rows === 'rejected') rejected += 1;
    // A refusal is an answer, too.
    const found = rows === 'rejected' ? await askOtherwise(each) : rows && readShown(each, rows.map(readPerson));
    if (found) shown.push(...found);
    else waitsFor = 'service_unusable';
  }
  // But where no spelling of an address may be asked for, nobody has said who has it.
  if (rejected === given.length && given.some(({ kind }) => kind === 'email')) waitsFor = 'service_rejects';
  return { shown, waitsFor };
}

/** What the service says of a person of the mirror. A person that came back has the same uuid and another integer id. */
export async function lookAt(context: AskContext, service: Service, owner: Owner): Promise<OwnerLook> {
  let look: OwnerLook = 'unknown';
  const asked = { id: owner.person_id, uuid: owner.person_uuid };
  for (const kind of ['id', 'uuid'] as const) {
    const value = asked[kind];
    if (value === null) continue;
    const rows = await askFor(context, service, { kind, value });
    if (rows === 'rejected' || rows === undefined) continue;
    const person = rows.length === 0 ? null : readPerson(rows[0]);
    if (person?.person_uuid === owner.person_uuid) return person;
    if (rows.length === 0) look = 'gone';
  }
  return look;
}

/** The rows that the service answers with; a 404 is an answer without any. Undefined where a firewall lets no such question pass. */
async function askFor(
  { signal }: AskContext,
  service: Service,
  { kind, value }: GivenIdentifier,
): Promise<readonly unknown[] | 'rejected' | undefined> {
  try {
    if (kind === 'distinct_id') {
      const listed = await askForDistinctId(service, value, signal);
      const held = listed.length > 0 ? undefined : await askDatabase(service, value, signal);
      return held === undefined ? listed : [held];
    }
    if (kind === 'email') return await askForEmail(service, value, signal);
    const params = personParams(value);
    const body = await bodyOrMissing(service.call('persons.retrieve', { params, priority: 'deletion', signal }));
    return body === undefined ? [] : [body];
  } catch (error) {
    if (error instanceof AppError && error.code === 'rejected') return 'rejected';
    if (error instanceof AppError && error.status === 403 && error.isForeign) return undefined;
    // One person who is refused to the key keeps nobody else from being asked for: where the list is answered, that proves enough.
    throw await ofOneRow(error, 'persons', { control: () => Promise.resolve(), service, signal });
  }
}

/** A person as a row shows them; null where the row does not identify a person. */
export function readPerson(row: unknown): Sighting | null {
  const whole = rowReaders.persons(row);
  const person = whole.ok ? whole : readIdentityOfPerson(row);
  if (!person.ok) return null;
  const email = emailOf(row);
  return { ...sightingOf('persons', person.columns), ...(email === undefined ? {} : { email }) };
}

/** Uuid and integer id of a person that the service shows. The closure decides about its distinct ids. */
function personOf({ person_uuid: uuid, person_id: id }: Sighting): Identity {
  return { ...nobody, person_uuid: uuid === null ? [] : [uuid], person_id: id === null ? [] : [id] };
}

const kindOf: Readonly<Record<Exclude<GivenIdentifier['kind'], 'email'>, IdentifierKind>> = {
  uuid: 'person_uuid',
  id: 'person_id',
  distinct_id: 'distinct_id',
  recording: 'recording_id',
};

function identityOfGiven(given: readonly GivenIdentifier[]): Identity {
  return unionOf(
    given.flatMap(({ kind, value }) => (kind === 'email' ? [] : [{ ...nobody, [kindOf[kind]]: [value] }])),
  );
}
