import type { Promotion } from '../../src/config/settings.ts';
import type { PublishedDataset } from '../../src/contract/datasets.ts';
import { addedColumns, publishedShapes, type Row } from '../../src/snapshot/columns.ts';
import { snapshotFolder } from './paths.ts';
import { type Manifest } from '../../src/snapshot/manifest.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { exportDataset, exportRequest } from '../export/export-fixture.ts';
import { expectedRows, type ReadRow, readWithHyparquet } from './parquet-readers.ts';

/** How rows are published, where it matters. */
type PublishOptions = { partRows?: number; promote?: readonly Promotion[] };

/** Publishes a snapshot of a dataset and keeps all before it; returns its id. */
export async function publishRows(
  dataDir: string,
  dataset: PublishedDataset,
  rows: readonly Row[],
  { partRows = 4, promote = [] }: PublishOptions = {},
): Promise<string> {
  const settings = { partRows, keep: 100, promote, mask: [] };
  const { snapshotId } = await exportDataset(exportRequest(dataDir, { dataset, rows, settings }));
  return snapshotId;
}

/** What a reader finds of rows that `publishRows` has published. */
export function publishedRows(dataset: PublishedDataset, rows: readonly Row[]): ReadRow[] {
  const added = Object.fromEntries(addedColumns(dataset).map(({ name }) => [name, 7n]));
  return expectedRows(publishedShapes[dataset], rows).map((row) => Object.assign(row, added));
}

/** The rows of a snapshot, part after part, as an independent reader finds them. Throws where its manifest miscounts. */
export async function rowsOfSnapshot(
  dataDir: string,
  dataset: PublishedDataset,
  snapshotId: string,
): Promise<{ manifest: Manifest; parts: ReadRow[][] }> {
  const manifest = publishedFilesIn(dataDir).readManifest({ dataset, snapshotId });
  const folder = snapshotFolder(dataDir, dataset, snapshotId);
  const parts = await Promise.all(manifest.files.map(({ name }) => readWithHyparquet(`${folder}/${name}`)));
  const counts = parts.map((rows) => rows.length);
  const counted = manifest.files.map(({ rows }) => rows);
  if (String(counts) !== String(counted) || manifest.rows !== parts.flat().length)
    throw new Error('a manifest that counts other rows than its parts have');
  return { manifest, parts };
}
