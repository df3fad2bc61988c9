import { resolve } from 'node:path';
import { publishedDatasets, type PublishedDataset } from '../contract/datasets.ts';
import { addressOf, metadataName, readTable } from './iceberg/table-files.ts';
import { currentIds, type Manifest } from './manifest.ts';
import type { PublishedFiles } from './published-files.ts';

/**
 * A published file that readers load: its absolute path, since they may stand in another folder; its rows, its bytes, and the
 * SHA-256 of the bytes in hexadecimal digits.
 */
type CurrentFile = { path: string; rows: number; bytes: number; sha256: string };

/**
 * A snapshot that readers load. A delta holds the rows that changed since the snapshot before it, and `deletions` says, as of
 * the snapshot that it names, which have left. Times are ISO 8601 UTC.
 */
export type CurrentSnapshot = {
  dataset: PublishedDataset;
  snapshotId: string;
  kind: 'full' | 'delta';
  createdAt: string;
  deletions: string | null;
  rows: number;
  files: CurrentFile[];
};

/**
 * The snapshots that CURRENT names: of each dataset the full one, then the deltas that continue it, oldest first. Throws
 * `storage` where CURRENT or a manifest is damaged.
 */
export function listCurrentSnapshots(published: PublishedFiles): CurrentSnapshot[] {
  const current = published.readCurrent();
  return publishedDatasets.flatMap((dataset) =>
    currentIds(current, dataset).map((snapshotId): CurrentSnapshot => {
      const {
        kind,
        created_at: createdAt,
        deletions = null,
        rows,
        files,
      } = published.readManifest({ dataset, snapshotId });
      const listed = files.map(({ name, rows: own, bytes, sha256 }) => ({
        path: resolve(published.localPath({ dataset, snapshotId }, name)),
        rows: own,
        bytes,
        sha256,
      }));
      return { dataset, snapshotId, kind, createdAt, deletions, rows, files: listed };
    }),
  );
}

/** The columns with which datasets are published now. Throws `storage` where CURRENT or a manifest is damaged. */
export function listCurrentColumns(
  published: PublishedFiles,
  datasets: readonly PublishedDataset[],
): { dataset: PublishedDataset; columns: Manifest['columns'] }[] {
  const current = published.readCurrent();
  return datasets.flatMap((dataset) =>
    currentIds(current, dataset)
      .slice(-1)
      .map((snapshotId) => ({ dataset, columns: published.readManifest({ dataset, snapshotId }).columns })),
  );
}

/** The full snapshots that CURRENT names and that deltas continue. Throws `storage` where CURRENT or a manifest is damaged. */
export function fullsWithDeltas(published: PublishedFiles): Manifest[] {
  const current = published.readCurrent();
  return publishedDatasets.flatMap((dataset) => {
    const [snapshotId, ...deltas] = currentIds(current, dataset);
    return snapshotId === undefined || deltas.length === 0 ? [] : [published.readManifest({ dataset, snapshotId })];
  });
}

/** The Iceberg table of a dataset: where its readers see it, and the file of its metadata now. */
export type CurrentTable = { dataset: PublishedDataset; location: string; metadata: string };

/** The tables that CURRENT names and that are whole. Throws `storage` where CURRENT or a manifest is damaged. */
export function listCurrentTables(published: PublishedFiles, datasets: readonly PublishedDataset[]): CurrentTable[] {
  return datasets.flatMap((dataset) => {
    const table = readTable(published, dataset);
    if (!table) return [];
    const { location } = table.metadata;
    return [{ dataset, location, metadata: addressOf(location, metadataName(table.entry.version)) }];
  });
}
