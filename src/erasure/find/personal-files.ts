import { listPublishedParts } from '../../snapshot/published-parts.ts';
import { placeOf, publishedFilesIn } from '../../snapshot/published-files.ts';
import { isPersonal } from '../../snapshot/subject-rows.ts';

/** Every published file, of every generation, that can hold somebody: where it is, relative to the data folder. */
export function listPersonalFiles(dataDir: string): string[] {
  return listPublishedParts(publishedFilesIn(dataDir))
    .filter(({ dataset }) => isPersonal(dataset))
    .map(({ dataset, snapshotId, file }) => placeOf({ dataset, snapshotId, name: file.name }));
}
