import { type Current, type Manifest, snapshotOf, currentIds } from './manifest.ts';
import { manifestName, type SnapshotName, partNumber } from './file-names.ts';
import type { PublishedFiles } from './published-files.ts';
import type { PreparedTable } from './iceberg/prepare-table.ts';
import { addTableFiles, forgetSnapshots, nameTable, settleTables, showTable } from './iceberg/publish-table.ts';
import { publishedDatasets } from '../contract/datasets.ts';
import { listPublishedSnapshots } from './published-parts.ts';

/** A snapshot whose draft is finished, and the table that comes with it, if one does. */
export type FinishedSnapshot = { manifest: Manifest; table: PreparedTable | undefined };

/**
 * Makes finished drafts, each of another dataset, their datasets' current snapshots, or the newest deltas of them: all at
 * once. Parts come first, then the manifests, then CURRENT: killed at any point, also by a power cut, readers find all that was
 * published or all that now is, whole; the hints of the tables come last. Synchronous, so that no other publish of this
 * process comes between reading and replacing CURRENT. Throws the system's error, and then CURRENT is as it was.
 */
export function publishSnapshots(published: PublishedFiles, finished: readonly FinishedSnapshot[]): void {
  for (const { manifest, table } of finished) {
    published.addSnapshot(
      snapshotOf(manifest),
      manifest.files.map(({ name }) => name),
    );
    if (table) addTableFiles(published, manifest.dataset, table);
    published.writeManifest(manifest);
  }
  const current = published.readCurrent();
  for (const { manifest, table } of finished) {
    const { dataset, snapshot_id: snapshotId } = manifest;
    const reference = { snapshot_id: snapshotId, manifest: `${dataset}/${snapshotId}/${manifestName}` };
    current.snapshots[dataset] =
      manifest.kind === 'full' ? reference : withDelta(current.snapshots[dataset], reference, manifest);
    nameTable(current, dataset, table);
  }
  published.writeCurrent(current);
  for (const { manifest } of finished) showTable(published, manifest.dataset);
}

function withDelta(
  current: Current['snapshots'][string] | undefined,
  reference: { snapshot_id: string; manifest: string },
  { based_on: base }: Manifest,
): Current['snapshots'][string] {
  const deltas = current?.deltas ?? [];
  if (!current || (deltas.at(-1) ?? current).snapshot_id !== base)
    throw new Error('a delta of a snapshot that is not the newest');
  return { ...current, deltas: [...deltas, reference] };
}

/**
 * Puts parts of the draft in the place of old parts of a published snapshot, all at once: the manifest is replaced by the
 * given one when the new parts are durably there, then the table, if there is one, and only then are the old parts deleted. Killed at any point, readers find the old parts or
 * the new ones, whole, and `removeUnnamedParts` clears the rest. Throws the system's error.
 */
export function replaceParts(
  published: PublishedFiles,
  manifest: Manifest,
  replaced: readonly string[],
  table: PreparedTable | undefined,
): void {
  const snapshot = snapshotOf(manifest);
  const { dataset } = manifest;
  const there = new Set(published.listFiles(snapshot));
  published.addParts(
    snapshot,
    manifest.files.flatMap(({ name }) => (there.has(name) ? [] : [name])),
  );
  if (table) addTableFiles(published, dataset, table);
  published.writeManifest(manifest);
  const current = published.readCurrent();
  if (table || current.tables?.[dataset]) {
    nameTable(current, dataset, table);
    published.writeCurrent(current);
  }
  showTable(published, dataset);
  published.removeFiles(snapshot, replaced);
}

/**
 * Deletes snapshots that are damaged. Before that, CURRENT names neither them nor the deltas that continue them. The next
 * export publishes whole ones.
 */
export function removeDamaged(published: PublishedFiles, damaged: readonly SnapshotName[]): void {
  if (damaged.length === 0) return;
  const current = published.readCurrent();
  for (const { dataset, snapshotId } of damaged) {
    const named = current.snapshots[dataset];
    const at = currentIds(current, dataset).indexOf(snapshotId);
    if (at === 0) delete current.snapshots[dataset];
    if (named && at > 0) named.deltas = named.deltas?.slice(0, at - 1);
    if (at >= 0) {
      nameTable(current, dataset, undefined);
      published.writeCurrent(current);
      showTable(published, dataset);
    }
    forgetSnapshots(published, dataset, [snapshotId]);
    if (published.listSnapshots(dataset).some(({ id }) => id === snapshotId))
      published.removeSnapshots(dataset, [snapshotId]);
  }
}

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
  const snapshots = listPublishedSnapshots(published);
  settleTables(published);
  for (const { manifest } of snapshots) removeUnnamedOf(published, manifest);
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
