import type { JobContext } from '../../job/job-context.ts';
import { prepareFindFenced, type FencedIdentifier } from '../../mirror/fence.ts';
import { readSightings } from '../../snapshot/read-sightings.ts';
import { identifiersOf } from '../find/closure.ts';

/**
 * Holds every identifier in published snapshots against the suppression list, by MAC. `isWanted`: by dataset and snapshot id.
 * Finds nobody unless older files were put back. Throws `storage` when a part cannot be read, since it could hold anybody.
 */
export async function findFencedInFiles(
  { db, published, signal }: Pick<JobContext, 'db' | 'published' | 'signal'>,
  isWanted: (snapshot: string) => boolean = () => true,
): Promise<FencedIdentifier[]> {
  const findFenced = prepareFindFenced(db);
  const found = new Map<string, FencedIdentifier>();
  for await (const sightings of readSightings(published, isWanted, signal))
    for (const each of sightings.flatMap((row) => findFenced(identifiersOf(row))))
      found.set(`${each.kind} ${each.value} ${each.requestId}`, each);
  return [...found.values()];
}
