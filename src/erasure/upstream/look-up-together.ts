import { batchFrom, personBatches } from '../../client/person-batches.ts';
import type { Subject } from '../request/box.ts';
import type { UpstreamContext } from './context.ts';
import { askedDistinctIds, isToldWhole, type ToldOfMany } from './look-up-person.ts';

/**
 * Asks for many subjects' persons at once; for their distinct ids only where none of them is there. What batches do not tell is
 * asked for by the look-up of each subject. Asks nothing where the persons are few.
 */
export async function askForMany(
  { service, signal }: UpstreamContext,
  subjects: readonly Subject[],
  isSent: (subject: Subject) => boolean,
): Promise<ToldOfMany> {
  const asked = subjects.flatMap(({ identity }) => identity.person_uuid);
  if (asked.length < batchFrom) return { uuids: new Map(), distinctIds: new Map() };
  const batches = personBatches(service, signal);
  const told = { uuids: await batches.byUuids(asked), distinctIds: new Map<string, unknown>() };
  const isAbsent = ({ identity }: Subject): boolean =>
    isToldWhole(identity, told) && identity.person_uuid.every((uuid) => told.uuids.get(uuid) === null);
  const distinctIds = subjects
    .filter(isAbsent)
    .flatMap((subject) => askedDistinctIds(subject.identity, { isSent: isSent(subject), isEachAskedById: true }));
  return { ...told, distinctIds: await batches.byDistinctIds(distinctIds) };
}
