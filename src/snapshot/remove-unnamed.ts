import { type SnapshotName, manifestName, partNumber } from './file-names.ts';
import { publishedDatasets } from '../contract/datasets.ts';
import { listPublishedSnapshots } from './published-parts.ts';
import { type Manifest, currentIds, snapshotOf } from './manifest.ts';
import type { PublishedFiles } from './published-files.ts';

/** A file of a snapshot that its manifest does not name. No reader finds it. */
export type UnnamedFile = { dataset: string; snapshotId: string; name: string };

/** The parts of a snapshot that a manifest does not name; all of them where there is no manifest. */
export function unnamedParts(
  published: PublishedFiles,
  snapshot: SnapshotName,
  manifest: Manifest | undefined,
): string[] {
  const named = new Set(manifest?.files.map(({ name }) => name));
  return published.listFiles(snapshot).filter((name) => partNumber(name) !== undefined && !named.has(name));
}

/** Deletes what a rewrite of a snapshot that was cut off left in it, and returns the names of those files. */
export function removeUnnamedOf(published: PublishedFiles, manifest: Manifest): string[] {
  const snapshot = snapshotOf(manifest);
  const drafts = published.listFiles(snapshot).filter((name) => name.startsWith(`${manifestName}.draft-`));
  const names = [...unnamedParts(published, snapshot, manifest), ...drafts];
  published.removeFiles(snapshot, names);
  return names;
}

/**
 * Deletes every file of the snapshots that no reader can find, which is what a kill leaves: parts that their manifest
 * does not name, drafts, and snapshots that were never published. Returns them, except what lay in drafts. Nothing else may
 * write snapshots meanwhile. Throws `storage` when CURRENT or a manifest is damaged, and then has deleted nothing.
 */
export function removeUnnamedParts(published: PublishedFiles): UnnamedFile[] {
  const removed: UnnamedFile[] = listPublishedSnapshots(published).flatMap(
    ({ dataset, snapshotId, manifest }) =>
      removeUnnamedOf(published, manifest).map((name) => ({ dataset, snapshotId, name })),
  );
  const current = published.readCurrent();
  for (const dataset of publishedDatasets) {
    published.removeDrafts(dataset);
    const unpublished = published
      .listSnapshots(dataset)
      .filter(({ id, hasManifest }) => !hasManifest && !currentIds(current, dataset).includes(id))
      .map(({ id }) => id);
    for (const snapshotId of unpublished)
      for (const name of published.listFiles({ dataset, snapshotId }))
        removed.push({ dataset, snapshotId, name });
    published.removeSnapshots(dataset, unpublished);
  }
  return removed;
}
