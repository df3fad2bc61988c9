import { datasets, type PublishedDataset } from '../contract/datasets.ts';
import type { Sighting } from '../contract/identity.ts';
import { listPublishedParts } from './published-parts.ts';
import type { PublishedFiles } from './published-files.ts';
import { searchParts } from './search-parts.ts';
import { isPersonal } from './subject-rows.ts';

/**
 * The identifiers in every row of the wanted snapshots (`persons/20261120T125500.123Z`), in batches, as `searchParts` promises.
 * Other columns are not read.
 */
export async function* readSightings(
  published: PublishedFiles,
  isWanted: (snapshot: string) => boolean,
  signal: AbortSignal,
): AsyncGenerator<Sighting[]> {
  const parts = listPublishedParts(published).filter(
    ({ dataset, snapshotId }) => isPersonal(dataset) && isWanted(`${dataset}/${snapshotId}`),
  );
  for await (const { rows } of searchParts(published, parts, { columns: identifyingColumns }, signal)) yield rows;
}

function identifyingColumns(dataset: PublishedDataset): string[] {
  const { identifiers, heldIds, embeddedPerson, publishedFields } = datasets[dataset];
  const names = new Set([...identifiers.map(({ name }) => name), heldIds?.name, embeddedPerson]);
  return publishedFields.filter(({ name }) => names.has(name)).map(({ column }) => column);
}
