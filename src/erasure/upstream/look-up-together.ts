import { batchFrom, personBatches } from '../../client/person-batches.ts';
import { batchDistinctIdsMax } from '../../contract/optional-endpoints.ts';
import type { Subject } from '../request/box.ts';
import type { UpstreamContext } from './context.ts';
import { askedDistinctIds, distinctIdsOf, isToldWhole, type ToldOfMany } from './look-up-person.ts';

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
    .filter(({ identity }) => isToldWhole(identity, told))
    .flatMap((subject) =>
      askedDistinctIds(subject.identity, { shown: shownOf(subject), isSent: isSent(subject), isEachAskedById: true }),
    );
  return { ...told, distinctIds: await batches.byDistinctIds(distinctIds) };
}
