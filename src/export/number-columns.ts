import type { PublishedDataset } from '../contract/datasets.ts';
import { numberFields } from '../mirror/field-ids.ts';
import type { Column } from '../snapshot/columns.ts';
import type { PublishedColumn } from '../snapshot/manifest.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import type { ExportContext } from './mirror-export.ts';

/** Numbers the columns of a dataset. No published file has one of these numbers for another column. */
export function numberColumns(
  { db, published }: Pick<ExportContext, 'db' | 'published'>,
  dataset: PublishedDataset,
  columns: readonly Column[],
): PublishedColumn[] {
  // A column of hashes means something else: it has a number of its own, as a column of another type has.
  const meant = columns.map(({ name, type, hashedUnder }) => ({
    name,
    type: hashedUnder === undefined ? type : `${type} hashed ${hashedUnder}`,
  }));
  const numbered = numberFields(db, dataset, meant, () => lastNumberOf(published, dataset));
  return numbered.map((field, index) => Object.assign(field, { type: columns[index]?.type ?? 'string' }));
}

/** The greatest number of a column in the snapshots of a dataset; 0 where there is none. */
function lastNumberOf(published: PublishedFiles, dataset: PublishedDataset): number {
  const numbers = published
    .listSnapshots(dataset)
    .filter(({ hasManifest }) => hasManifest)
    .flatMap(({ id }) => published.readManifest({ dataset, snapshotId: id }).columns)
    .map(({ id, element_id: elementId = id }) => elementId);
  return Math.max(0, ...numbers);
}
