import { datasets } from '../contract/datasets.ts';
import type { Sighting } from '../contract/identity.ts';
import { sightingOf } from '../contract/row-readers.ts';
import { checkPartSize, listPublishedParts, unreadablePart } from './published-parts.ts';
import type { PublishedFiles } from './published-files.ts';
import { readParquetRows } from './read-parquet.ts';
import { isPersonal } from './subject-rows.ts';

/**
 * The identifiers in every row of the wanted snapshots (`persons/20261120T125500.123Z`), in batches; other columns are not
 * read. Throws `storage` when a part is missing or cannot be read.
 */
export async function* readSightings(
  published: PublishedFiles,
  isWanted: (snapshot: string) => boolean,
  signal: AbortSignal,
): AsyncGenerator<Sighting[]> {
  for (const part of listPublishedParts(published)) {
    const { dataset, snapshotId, path } = part;
    if (!isPersonal(dataset) || !isWanted(`${dataset}/${snapshotId}`)) continue;
    checkPartSize(published, part);
    const { identifiers, heldIds, embeddedPerson, publishedFields } = datasets[dataset];
    const wanted = new Set([...identifiers.map(({ name }) => name), heldIds?.name, embeddedPerson]);
    const fields = publishedFields.filter(({ name }) => wanted.has(name));
    try {
      for await (const { rows } of readParquetRows(
        path,
        fields.map(({ column }) => column),
      )) {
        signal.throwIfAborted();
        yield rows.map((row) =>
          sightingOf(dataset, Object.fromEntries(fields.map(({ name }, index) => [name, row[index]]))),
        );
      }
    } catch (error) {
      signal.throwIfAborted();
      throw unreadablePart(part, error);
    }
  }
}
