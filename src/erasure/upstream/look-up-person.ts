import { AppError } from '../../core/errors.ts';
import { personParams } from '../../contract/endpoints.ts';
import { askableDistinctIds, type Identity } from '../../contract/identity.ts';
import { textListOf, type Columns } from '../../contract/tolerant-reader.ts';
import { askForDistinctId, type Told, batchFrom, personBatches } from '../../client/person-batches.ts';
import { ofOneRow } from '../../client/control.ts';
import { askForProject, bodyOrMissing } from '../../client/service.ts';
import { isJsonObject } from '../../core/exact-json.ts';
import { readIdentityOfPerson } from '../../contract/row-readers.ts';
import { inBatches, type UpstreamContext } from './context.ts';
import { batchDistinctIdsMax } from '../../contract/optional-endpoints.ts';
import type { Subject } from '../request/box.ts';

/** A person that the service shows. `ref`: what its path takes, the integer id where that is known. */
export type LivingPerson = { uuid: string; ref: string; createdAt: string | null };

/** Another person that has a distinct id of the subject, and which. */
export type Holder = Pick<LivingPerson, 'uuid' | 'createdAt'> & { distinctId: string };

/** What the service says of a subject. */
export type PersonLook = {
  /** The subject's persons that are there, by uuid. */
  living: ReadonlyMap<string, LivingPerson>;
  /** Whether an identifier leads to another person, or to a row that cannot be read. */
  leadsElsewhere: boolean;
  /** The other persons that have one of the subject's distinct ids now. */
  holders: readonly Holder[];
  /** Whether the service could be asked by id or by uuid, and not only by its lists. */
  isAskedById: boolean;
  /** The distinct ids that the living persons are shown with. */
  shown: ReadonlySet<string>;
};

/** A person as a row shows it. Uuid and integer id tell which person it is, also where the rest cannot be read. */
function readPerson(row: unknown): ReturnType<typeof readIdentityOfPerson> {
  const person = readIdentityOfPerson(row);
  return person.ok || !isJsonObject(row) ? person : readIdentityOfPerson({ uuid: row['uuid'], id: row['id'] });
}

/** What batches have told of many subjects' persons, and of who has their distinct ids. */
export type ToldOfMany = { uuids: Told; distinctIds: Told };

/** So many distinct ids of a subject whose deletion was sent are asked for, beside the id of each person. */
const distinctIdsMax = 100;

/** The distinct ids that a person is shown with. */
function distinctIdsOf(row: unknown): readonly string[] {
  const person = readPerson(row);
  return (person.ok && textListOf(person.columns['distinct_ids'])) || [];
}

/**
 * The distinct ids of a subject that are asked for. Where none of its persons is there, all of them; once their deletion was sent,
 * not the million of a large person. Where some are there, before their deletion is sent, all that no row shows (`shown`): a
 * split may have given each to another person.
 */
function askedDistinctIds(
  { distinct_id: distinctIds }: Identity,
  { shown, isSent, isEachAskedById }: AskedFor,
): string[] {
  if (shown === null) return askableDistinctIds(distinctIds, isSent && isEachAskedById ? distinctIdsMax : undefined);
  const unseen = isSent ? [] : distinctIds.filter((distinctId) => !shown.has(distinctId));
  return askableDistinctIds(unseen);
}

/** `shown`: the distinct ids of the subject's persons that are there; null where none is. */
type AskedFor = { shown: ReadonlySet<string> | null; isSent: boolean; isEachAskedById: boolean };

/**
 * Whether batches have told of each person of a subject, so that none has to be asked for. A batch shows some distinct ids only:
 * before the deletion is sent, who may have more is asked for by id, which shows all.
 */
function isToldWhole(
  { person_uuid: uuids, person_id: ids }: Identity,
  { uuids: told }: ToldOfMany,
  isSent: boolean,
): boolean {
  const isTold = (uuid: string): boolean =>
    told.has(uuid) && (isSent || distinctIdsOf(told.get(uuid)).length < batchDistinctIdsMax);
  // An integer id beyond the uuids may be of a person whose uuid nobody knows.
  return uuids.length > 0 && ids.length <= uuids.length && uuids.every(isTold);
}

/**
 * Every person that a subject is or was: by integer id, by uuid, or else by each distinct id; nobody is asked for whom batches
 * have told of (`told`). Rejects if unclear. `isSent`: whether their deletion was sent.
 */
export async function lookUpPerson(
  context: UpstreamContext,
  identity: Identity,
  { isSent, told }: { isSent: boolean; told: ToldOfMany },
): Promise<PersonLook> {
  const { service, signal } = context;
  const living = new Map<string, LivingPerson>();
  const shown = new Set<string>();
  const holders = new Map<string, Holder>();
  const look = { living, leadsElsewhere: false, isAskedById: false };
  const take = (row: unknown, distinctId?: string, isHolder = false): void => {
    const person = readPerson(row);
    const uuid = person.ok ? person.columns['uuid'] : undefined;
    if (!person.ok || typeof uuid !== 'string' || !identity.person_uuid.includes(uuid)) {
      // A list may show any person: only one that has the distinct id is its owner.
      const isOwner = distinctId !== undefined && (isHolder || distinctIdsOf(row).includes(distinctId));
      if (isOwner && person.ok && typeof uuid === 'string')
        holders.set(uuid, { uuid, distinctId, createdAt: createdAtOf(person) });
      else look.leadsElsewhere = true;
      return;
    }
    const { id } = person.columns;
    const ref = id === null || id === undefined ? uuid : String(id);
    // The first answer is the one by id: a list of a live service shows no integer.
    if (!living.has(uuid)) living.set(uuid, { uuid, ref, createdAt: createdAtOf(person) });
    for (const each of distinctIdsOf(row)) shown.add(each);
  };
  const askBy = async (ref: string): Promise<void> => {
    const asked = service.call('persons.retrieve', { params: personParams(ref), priority: 'deletion', signal });
    const found = await bodyOrMissing(asked).catch(async (error: unknown) => {
      throw await ofOneRow(error, 'persons', context);
    });
    look.isAskedById = true;
    if (found !== undefined) take(found);
  };
  const isTold = isToldWhole(identity, told, isSent);
  if (isTold) {
    look.isAskedById = true;
    for (const row of identity.person_uuid.map((uuid) => told.uuids.get(uuid))) if (row !== null) take(row);
  } else await inBatches(context, identity.person_id, askBy);
  const unseen = context.paths.takeUuids && !isTold ? identity.person_uuid.filter((uuid) => !living.has(uuid)) : [];
  await inBatches(context, unseen, async (uuid) => {
    try {
      await askBy(uuid);
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 400) throw error;
      context.paths.takeUuids = false;
    }
  });
  if (!look.leadsElsewhere) {
    const isEachAskedById =
      isTold || (look.isAskedById && (context.paths.takeUuids || identity.person_uuid.length === 1));
    const asked = askedDistinctIds(identity, { shown: living.size === 0 ? null : shown, isSent, isEachAskedById });
    await inBatches(context, asked, async (distinctId) => {
      const holder = told.distinctIds.get(distinctId);
      if (holder === null) return;
      if (holder !== undefined) return take(holder, distinctId, true);
      for (const row of await askForDistinctId(service, distinctId, signal)) take(row, distinctId);
    });
    if (living.size === 0 && look.isAskedById && !isTold) await context.control('persons');
    if (living.size + asked.length === 0 && !isTold) await askForProject(service, 'persons', signal);
  }
  return { ...look, holders: [...holders.values()], shown };
}

function createdAtOf({ columns }: { columns: Columns }): string | null {
  const { created_at: createdAt } = columns;
  return typeof createdAt === 'string' ? createdAt : null;
}

/**
 * Asks for many subjects' persons at once, and for those of their distinct ids that the look-ups need. What batches do not tell is
 * asked for by the look-up of each subject. Asks nothing where the persons are few, and none has more distinct ids than a batch shows.
 */
export async function askForMany(
  { service, signal }: UpstreamContext,
  subjects: readonly Subject[],
  isSent: (subject: Subject) => boolean,
): Promise<ToldOfMany> {
  const asked = subjects.flatMap(({ identity }) => identity.person_uuid);
  const isLarge = subjects.some(({ identity }) => identity.distinct_id.length > batchDistinctIdsMax);
  if (asked.length < batchFrom && !isLarge) return { uuids: new Map(), distinctIds: new Map() };
  const batches = personBatches(service, signal);
  const told = { uuids: await batches.byUuids(asked), distinctIds: new Map<string, unknown>() };
  const shownOf = ({ identity }: Subject): ReadonlySet<string> | null => {
    const rows = identity.person_uuid.map((uuid) => told.uuids.get(uuid)).filter((row) => row !== null);
    return rows.length === 0 ? null : new Set(rows.flatMap(distinctIdsOf));
  };
  const distinctIds = subjects
    .filter((subject) => isToldWhole(subject.identity, told, isSent(subject)))
    .flatMap((subject) =>
      askedDistinctIds(subject.identity, { shown: shownOf(subject), isSent: isSent(subject), isEachAskedById: true }),
    );
  return { ...told, distinctIds: await batches.byDistinctIds(distinctIds) };
}
