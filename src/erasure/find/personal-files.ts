import { listPublishedParts } from '../../snapshot/list-published.ts';
import { isPersonal } from '../../snapshot/subject-rows.ts';

/** Where a published file is, relative to the data folder. */
export function placeOfFile(file: { dataset: string; snapshotId: string; name: string }): string {
  return `snapshots/${file.dataset}/${file.snapshotId}/${file.name}`;
}

/** Every published file, of every generation, that can hold somebody: where it is, relative to the data folder. */
export function listPersonalFiles(dataDir: string): string[] {
  return listPublishedParts(dataDir)
    .filter(({ dataset }) => isPersonal(dataset))
    .map(({ dataset, snapshotId, file }) => placeOfFile({ dataset, snapshotId, name: file.name }));
}
