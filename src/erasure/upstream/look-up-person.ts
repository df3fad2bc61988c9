import { AppError } from '../../core/errors.ts';
import { personParams } from '../../contract/endpoints.ts';
import { askableDistinctIds, type Identity } from '../../contract/identity.ts';
import { readEnvelope, textListOf } from '../../contract/tolerant-reader.ts';
import { askForProject, bodyOrMissing, rowsOfOneMax } from '../../client/service.ts';
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

/** So many distinct ids are asked for besides the id of each person, once their deletion was sent. */
const sentDistinctIdsMax = 100;

/**
 * Every person that a subject is or was: by integer id, by uuid, or else by each distinct id. Rejects if unclear. Once their
 * deletion was sent (`isSent`), not all distinct ids are asked for: a large person has a million.
 */
export async function lookUpPerson(
  context: UpstreamContext,
  identity: Identity,
  { isSent }: { isSent: boolean },
): Promise<PersonLook> {
  const { service, signal } = context;
  const living = new Map<string, LivingPerson>();
  const look: PersonLook = { living, leadsElsewhere: false, isHeldByAnother: false, isAskedById: false };
  const take = (row: unknown, distinctId?: string): void => {
    const person = readPerson(row);
    const uuid = person.ok ? person.columns['uuid'] : undefined;
    if (!person.ok || typeof uuid !== 'string' || !identity.person_uuid.includes(uuid)) {
      // A list may show any person: only one that has the distinct id is its owner.
      const held = (person.ok && textListOf(person.columns['distinct_ids'])) || [];
      if (distinctId !== undefined && held.includes(distinctId)) look.isHeldByAnother = true;
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
  await inBatches(context, identity.person_id, askBy);
  const unseen = context.paths.takeUuids ? identity.person_uuid.filter((uuid) => !living.has(uuid)) : [];
  await inBatches(context, unseen, async (uuid) => {
    try {
      await askBy(uuid);
    } catch (error) {
      if (!(error instanceof AppError) || error.status !== 400) throw error;
      context.paths.takeUuids = false;
    }
  });
  if (living.size === 0 && !look.leadsElsewhere) {
    const isEachAskedById = look.isAskedById && (context.paths.takeUuids || identity.person_uuid.length === 1);
    const most = isSent && isEachAskedById ? sentDistinctIdsMax : Number.POSITIVE_INFINITY;
    const asked = askableDistinctIds(identity.distinct_id, most);
    await inBatches(context, asked, async (distinctId) => {
      const { body } = await service.call('persons.list', {
        query: { distinct_id: distinctId },
        priority: 'deletion',
        signal,
      });
      for (const row of readEnvelope(body, rowsOfOneMax).results) take(row, distinctId);
    });
    if (asked.length === 0) await askForProject(service, 'persons', signal);
  }
  return look;
}
