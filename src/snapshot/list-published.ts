import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../core/errors.ts';
import { type Dataset, datasetNames } from './columns.ts';
import { datasetFolder, manifestName, snapshotFolder } from './layout.ts';
import { type Manifest, type ManifestFile, currentIds, readCurrent, readManifest } from './manifest.ts';
import { snapshotIdPattern } from './snapshot-id.ts';

/** A snapshot folder as found on disk. One without a manifest was never published, unless CURRENT names it. */
export type FoundSnapshot = { id: string; hasManifest: boolean };

/** The snapshots of a dataset that are on disk, oldest first. Folders that are not snapshots are not seen. */
export function findSnapshots(dataDir: string, dataset: string): FoundSnapshot[] {
  const folder = datasetFolder(dataDir, dataset);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => snapshotIdPattern.test(name))
    .toSorted()
    .map((id) => ({ id, hasManifest: existsSync(join(snapshotFolder(dataDir, dataset, id), manifestName)) }));
}

/** A snapshot of any generation that readers may hold on to. */
export type PublishedSnapshot = { dataset: Dataset; snapshotId: string; manifest: Manifest };

/**
 * Every generation of every dataset, oldest first, with its manifest. Throws `storage` when CURRENT or a manifest is
 * damaged: whoever looks for a person must not pass a snapshot over.
 */
export function listPublishedSnapshots(dataDir: string): PublishedSnapshot[] {
  const current = readCurrent(dataDir);
  return datasetNames.flatMap((dataset) => {
    const ids = findSnapshots(dataDir, dataset).filter(({ hasManifest }) => hasManifest);
    const names = new Set([...ids.map(({ id }) => id), ...currentIds(current, dataset)]);
    return [...names].toSorted().map((snapshotId) => {
      const manifest = readManifest(dataDir, dataset, snapshotId);
      if (manifest.dataset === dataset && manifest.snapshot_id === snapshotId)
        return { dataset, snapshotId, manifest };
      throw new AppError(`the manifest of ${dataset}/${snapshotId} is another snapshot's`, {
        code: 'storage',
        hint: `restore it from a backup, or export ${dataset} again until this snapshot is retired`,
      });
    });
  });
}

/** One part of a published snapshot, as its manifest has it. */
export type PublishedPart = {
  dataset: Dataset;
  snapshotId: string;
  file: ManifestFile;
  path: string;
  erasureEpoch: number;
};

/** Every part of every generation of every dataset. Throws as `listPublishedSnapshots` does. */
export function listPublishedParts(dataDir: string): PublishedPart[] {
  return listPublishedSnapshots(dataDir).flatMap(({ dataset, snapshotId, manifest }) =>
    manifest.files.map((file) => ({
      dataset,
      snapshotId,
      file,
      path: join(snapshotFolder(dataDir, dataset, snapshotId), file.name),
      erasureEpoch: manifest.erasure_epoch,
    })),
  );
}
