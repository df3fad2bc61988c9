import type { DuckDBConnection } from '@duckdb/node-api';
import { AppError } from '../core/errors.ts';
import { type PublishedDataset, publishedDatasets } from '../contract/datasets.ts';
import { sqlPaths } from './duckdb.ts';
import type { SnapshotName } from './file-names.ts';
import { type Manifest, type ManifestFile, currentIds } from './manifest.ts';
import type { PublishedFiles } from './published-files.ts';

/** A snapshot of any generation that readers may hold on to. */
export type PublishedSnapshot = { dataset: PublishedDataset; snapshotId: string; manifest: Manifest };

/** Every generation with its manifest, oldest first. Throws `storage` where CURRENT or a manifest is damaged. */
export function listPublishedSnapshots(published: PublishedFiles): PublishedSnapshot[] {
  const current = published.readCurrent();
  return publishedDatasets.flatMap((dataset) => {
    const ids = published.listSnapshots(dataset).filter(({ hasManifest }) => hasManifest);
    const names = new Set([...ids.map(({ id }) => id), ...currentIds(current, dataset)]);
    return [...names].toSorted().map((snapshotId) => {
      const manifest = published.readManifest({ dataset, snapshotId });
      if (manifest.dataset === dataset && manifest.snapshot_id === snapshotId) return { dataset, snapshotId, manifest };
      throw new AppError(`the manifest of ${dataset}/${snapshotId} is another snapshot's`, {
        code: 'storage',
        hint: `restore it from a backup, or export ${dataset} again until this snapshot is retired`,
      });
    });
  });
}

/** The manifest of a snapshot; undefined where it is missing or damaged. */
export function readIfSound(published: PublishedFiles, snapshot: SnapshotName): Manifest | undefined {
  try {
    return published.readManifest(snapshot);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** One part of a published snapshot, as its manifest has it, and its local path. */
export type PublishedPart = ManifestFile & { dataset: PublishedDataset; snapshotId: string; path: string };

/** Every part of every generation of every dataset. Throws as `listPublishedSnapshots` does. */
export function listPublishedParts(published: PublishedFiles): PublishedPart[] {
  return listPublishedSnapshots(published).flatMap(({ dataset, snapshotId, manifest }) =>
    manifest.files.map((file) => {
      const path = published.localPath({ dataset, snapshotId }, file.name);
      return { ...file, dataset, snapshotId, path };
    }),
  );
}

/** The error for a part that cannot be read, or differs from what was published: it could hold any person. */
export function damagedPart({ dataset, snapshotId, name }: PublishedPart, what: string): AppError {
  return new AppError(`the published file ${dataset}/${snapshotId}/${name} ${what}`, {
    code: 'storage',
    hint: `restore it from a backup, or export ${dataset} again until this snapshot is retired (export.keep)`,
  });
}

/** The error for a part whose reading failed. The words of the cause are left out: they can quote what the part holds. */
export function unreadablePart(part: PublishedPart, cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  const kind = cause instanceof Error ? /^[A-Z][A-Za-z ]+ Error/.exec(cause.message)?.[0] : undefined;
  return damagedPart(part, `cannot be read: ${kind ?? 'it failed'}`);
}

/** Throws `storage` when a part is not there, or is not as long as published. */
export function checkPartSize(published: PublishedFiles, part: PublishedPart): void {
  const size = published.sizeOf(part, part.name);
  if (size === undefined) throw damagedPart(part, 'is missing');
  if (size !== part.bytes) throw damagedPart(part, `has ${size} bytes, published were ${part.bytes}`);
}

/** Throws `storage` when a part's own footer counts other rows than were published. */
export async function checkPartRows(connection: DuckDBConnection, parts: readonly PublishedPart[]): Promise<void> {
  const paths = sqlPaths(parts.map(({ path }) => path));
  const footers = await connection.runAndReadAll(`SELECT file_name, num_rows FROM parquet_file_metadata(${paths})`);
  const rowsOf = new Map(footers.getRows().map(([path, rows]) => [String(path), Number(rows)]));
  for (const part of parts) {
    const rows = rowsOf.get(part.path);
    if (rows !== part.rows) throw damagedPart(part, `has ${rows} rows, published were ${part.rows}`);
  }
}
