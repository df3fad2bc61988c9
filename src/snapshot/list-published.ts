import { AppError } from '../core/errors.ts';
import { type PublishedDataset, publishedDatasets } from '../contract/datasets.ts';
import { type Manifest, type ManifestFile, currentIds } from './manifest.ts';
import type { PublishedFiles } from './published-files.ts';

/** A snapshot of any generation that readers may hold on to. */
export type PublishedSnapshot = { dataset: PublishedDataset; snapshotId: string; manifest: Manifest };

/**
 * Every generation of every dataset, oldest first, with its manifest. Throws `storage` when CURRENT or a manifest is
 * damaged: a search for a person must not pass a snapshot over.
 */
export function listPublishedSnapshots(published: PublishedFiles): PublishedSnapshot[] {
  const current = published.readCurrent();
  return publishedDatasets.flatMap((dataset) => {
    const ids = published.listSnapshots(dataset).filter(({ hasManifest }) => hasManifest);
    const names = new Set([...ids.map(({ id }) => id), ...currentIds(current, dataset)]);
    return [...names].toSorted().map((snapshotId) => {
      const manifest = published.readManifest({ dataset, snapshotId });
      if (manifest.dataset === dataset && manifest.snapshot_id === snapshotId)
        return { dataset, snapshotId, manifest };
      throw new AppError(`the manifest of ${dataset}/${snapshotId} is another snapshot's`, {
        code: 'storage',
        hint: `restore it from a backup, or export ${dataset} again until this snapshot is retired`,
      });
    });
  });
}

/** One part of a published snapshot, as its manifest has it, and its local path. */
export type PublishedPart = {
  dataset: PublishedDataset;
  snapshotId: string;
  file: ManifestFile;
  path: string;
  erasureEpoch: number;
};

/** Every part of every generation of every dataset. Throws as `listPublishedSnapshots` does. */
export function listPublishedParts(published: PublishedFiles): PublishedPart[] {
  return listPublishedSnapshots(published).flatMap(({ dataset, snapshotId, manifest }) =>
    manifest.files.map((file) => ({
      dataset,
      snapshotId,
      file,
      path: published.localPath({ dataset, snapshotId }, file.name),
      erasureEpoch: manifest.erasure_epoch,
    })),
  );
}
