import type { Identifier } from '../../contract/identity.ts';
import type { JobContext } from '../../job/job-context.ts';
import { prepareFindFenced, type FencedIdentifier } from '../../mirror/fence.ts';
import { readSightings } from '../../snapshot/read-sightings.ts';

/**
 * Holds every identifier in published snapshots against the suppression list, by MAC. `isWanted`: by dataset and snapshot id.
 * Finds nobody unless older files were put back. Throws `storage` when a part cannot be read, since it could hold anybody.
 */
export async function findFencedInFiles(
  { db, published, signal }: Pick<JobContext, 'db' | 'published' | 'signal'>,
  isWanted: (snapshot: string) => boolean,
): Promise<FencedIdentifier[]> {
  const findFenced = prepareFindFenced(db);
  const found = new Map<string, FencedIdentifier>();
  for await (const sightings of readSightings(published, isWanted, signal))
    for (const { person_uuid: uuid, person_id: id, distinct_ids: distinctIds, recording_id: recording } of sightings) {
      const identifiers: Identifier[] = [
        ...(uuid === null ? [] : [{ kind: 'person_uuid', value: uuid } as const]),
        ...(id === null ? [] : [{ kind: 'person_id', value: id } as const]),
        ...(recording === null ? [] : [{ kind: 'recording_id', value: recording } as const]),
        ...distinctIds.map((value) => ({ kind: 'distinct_id', value }) as const),
      ];
      for (const each of findFenced(identifiers)) found.set(`${each.kind} ${each.value} ${each.requestId}`, each);
    }
  return [...found.values()];
}
