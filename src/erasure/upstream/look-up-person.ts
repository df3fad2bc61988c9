import { AppError } from '../../core/errors.ts';
import { personParams } from '../../contract/endpoints.ts';
import { askableDistinctIds, type Identity } from '../../contract/identity.ts';
import { readEnvelope, textListOf } from '../../contract/tolerant-reader.ts';
import { askForProject, bodyOrMissing, rowsOfOneMax } from '../../client/service.ts';
import type { Told } from '../../client/person-batches.ts';
import { isJsonObject } from '../../core/exact-json.ts';
import { readIdentityOfPerson } from '../../contract/row-readers.ts';
import { inBatches, type UpstreamContext } from './context.ts';

/** A person that the service shows. `ref`: what its path takes, the integer id where that is known. */
export type LivingPerson = { uuid: string; ref: string; createdAt: string | null };

/** What the service says of a subject. */
export type PersonLook = {
  /** The subject's persons that are there, by uuid. */
  living: ReadonlyMap<string, LivingPerson>;
  /** Whether an identifier leads to another person, or to a row that cannot be read. */
  leadsElsewhere: boolean;
  /** Whether another person has one of the subject's distinct ids now. */
  isHeldByAnother: boolean;
  /** Whether the service could be asked by id or by uuid, and not only by its lists. */
  isAskedById: boolean;
};

/** A person as a row shows it. Uuid and integer id tell which person it is, also where the rest cannot be read. */
function readPerson(row: unknown): ReturnType<typeof readIdentityOfPerson> {
  const person = readIdentityOfPerson(row);
  return person.ok || !isJsonObject(row) ? person : readIdentityOfPerson({ uuid: row['uuid'], id: row['id'] });
}

/** What batches have told of many subjects' persons, and of who has their distinct ids. */
export type ToldOfMany = { uuids: Told; distinctIds: Told };

/** So many distinct ids are asked for besides the id of each person, once their deletion was sent. */
const sentDistinctIdsMax = 100;

/** The distinct ids that are asked for where none of a subject's persons is there: once sent, not the million of a large person. */
export function askedDistinctIds(
  { distinct_id: distinctIds }: Identity,
  { isSent, isEachAskedById }: { isSent: boolean; isEachAskedById: boolean },
): string[] {
  return askableDistinctIds(distinctIds, isSent && isEachAskedById ? sentDistinctIdsMax : Number.POSITIVE_INFINITY);
}

/** Whether batches have told of each person of a subject, so that none has to be asked for. */
export function isToldWhole({ person_uuid: uuids, person_id: ids }: Identity, { uuids: told }: ToldOfMany): boolean {
  // An integer id beyond the uuids may be of a person whose uuid nobody knows.
  return uuids.length > 0 && ids.length <= uuids.length && uuids.every((uuid) => told.has(uuid));
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
  const look: PersonLook = { living, leadsElsewhere: false, isHeldByAnother: false, isAskedById: false };
  const take = (row: unknown, distinctId?: string, isHolder = false): void => {
    const person = readPerson(row);
    const uuid = person.ok ? person.columns['uuid'] : undefined;
    if (!person.ok || typeof uuid !== 'string' || !identity.person_uuid.includes(uuid)) {
      // A list may show any person: only one that has the distinct id is its owner.
      const held = (person.ok && textListOf(person.columns['distinct_ids'])) || [];
      if (distinctId !== undefined && (isHolder || held.includes(distinctId))) look.isHeldByAnother = true;
      else look.leadsElsewhere = true;
      return;
    }
    const { id, created_at: createdAt } = person.columns;
    living.set(uuid, {
      uuid,
      ref: id === null || id === undefined ? uuid : String(id),
      createdAt: typeof createdAt === 'string' ? createdAt : null,
    });
  };
  const askBy = async (ref: string): Promise<void> => {
    const found = await bodyOrMissing(
      service.call('persons.retrieve', { params: personParams(ref), priority: 'deletion', signal }),
    );
    look.isAskedById = true;
    if (found !== undefined) take(found);
  };
  const isTold = isToldWhole(identity, told);
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
  if (living.size === 0 && !look.leadsElsewhere) {
    const isEachAskedById =
      isTold || (look.isAskedById && (context.paths.takeUuids || identity.person_uuid.length === 1));
    const asked = askedDistinctIds(identity, { isSent, isEachAskedById });
    await inBatches(context, asked, async (distinctId) => {
      const holder = told.distinctIds.get(distinctId);
      if (holder === null) return;
      if (holder !== undefined) return take(holder, distinctId, true);
      const { body } = await service.call('persons.list', {
        query: { distinct_id: distinctId },
        priority: 'deletion',
        signal,
      });
      for (const row of readEnvelope(body, rowsOfOneMax).results) take(row, distinctId);
    });
    if (asked.length === 0 && !isTold) await askForProject(service, 'persons', signal);
  }
  return look;
}
