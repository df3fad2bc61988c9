import { type SnapshotName, manifestName, partNumber } from './file-names.ts';
import { publishedDatasets } from '../contract/datasets.ts';
import { listPublishedSnapshots } from './published-parts.ts';
import { type Manifest, currentIds, snapshotOf } from './manifest.ts';
import type { PublishedFiles } from './published-files.ts';

/** The parts of a snapshot that a manifest does not name; all of them where there is no manifest. */
export function unnamedParts(
  published: PublishedFiles,
  snapshot: SnapshotName,
  manifest: Manifest | undefined,
): string[] {
  const named = new Set(manifest?.files.map(({ name }) => name));
  return published.listFiles(snapshot).filter((name) => partNumber(name) !== undefined && !named.has(name));
}

/** Deletes the files that a rewrite which was cut off left in a snapshot. */
export function removeUnnamedOf(published: PublishedFiles, manifest: Manifest): void {
  const snapshot = snapshotOf(manifest);
  const drafts = published.listFiles(snapshot).filter((name) => name.startsWith(`${manifestName}.draft-`));
  published.removeFiles(snapshot, [...unnamedParts(published, snapshot, manifest), ...drafts]);
}

/**
 * Deletes every file of the snapshots that no reader can find, which is what a kill leaves: parts that their manifest
 * does not name, drafts, and snapshots that were never published. Nothing else may write snapshots meanwhile. Throws `storage` when CURRENT or a manifest is damaged, and then has deleted nothing.
 */
export function removeUnnamedParts(published: PublishedFiles): void {
  for (const { manifest } of listPublishedSnapshots(published)) removeUnnamedOf(published, manifest);
  const current = published.readCurrent();
  for (const dataset of publishedDatasets) {
    published.removeDrafts(dataset);
    const unpublished = published
      .listSnapshots(dataset)
      .filter(({ id, hasManifest }) => !hasManifest && !currentIds(current, dataset).includes(id))
      .map(({ id }) => id);
    published.removeSnapshots(dataset, unpublished);
  }
}
