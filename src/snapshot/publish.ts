import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile, syncToDisk } from '../core/atomic-file.ts';
import { temporaryFolder } from '../core/temporary-folder.ts';
import {
  currentPath,
  datasetFolder,
  manifestName,
  snapshotFolder,
  snapshotsFolder,
  temporaryPrefix,
} from './layout.ts';
import { type Current, type Manifest, readCurrent } from './manifest.ts';

/**
 * Makes a folder of finished parts the dataset's current snapshot, or the newest delta of it. A reader sees what was
 * published or what now is, whole, also when this is killed or the power fails at any point. Synchronous, so that no
 * other publish of this process comes between reading and replacing CURRENT. Throws the system's error, and then
 * CURRENT is as it was.
 */
export function publishSnapshot(dataDir: string, draftFolder: string, manifest: Manifest): void {
  const { dataset, snapshot_id: snapshotId } = manifest;
  const folder = snapshotFolder(dataDir, dataset, snapshotId);
  for (const { name } of manifest.files) syncToDisk(join(draftFolder, name));
  syncToDisk(draftFolder);
  mkdirSync(datasetFolder(dataDir, dataset), { recursive: true, mode: 0o700 });
  renameSync(draftFolder, folder);
  syncToDisk(datasetFolder(dataDir, dataset));
  syncToDisk(snapshotsFolder(dataDir));
  writeJson(join(folder, manifestName), manifest);
  const current = readCurrent(dataDir);
  const reference = { snapshot_id: snapshotId, manifest: `${dataset}/${snapshotId}/${manifestName}` };
  current.snapshots[dataset] =
    manifest.kind === 'full' ? reference : withDelta(current.snapshots[dataset], reference, manifest);
  writeJson(currentPath(dataDir), current);
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
 * Takes snapshots away, each whole at once: it leaves its place by rename before its files are deleted. Throws the
 * system's error; a snapshot that is gone already is no error.
 */
export function removeSnapshots(dataDir: string, dataset: string, snapshotIds: readonly string[]): void {
  if (snapshotIds.length === 0) return;
  for (const snapshotId of snapshotIds) {
    const grave = join(temporaryFolder(dataDir), `${temporaryPrefix(dataset)}${snapshotId}.removed`);
    rmSync(grave, { recursive: true, force: true });
    renameSync(snapshotFolder(dataDir, dataset, snapshotId), grave);
    rmSync(grave, { recursive: true });
  }
  syncToDisk(datasetFolder(dataDir, dataset));
  syncToDisk(temporaryFolder(dataDir));
}

/** Deletes what exports of a dataset that were killed left in the temporary folder, which is made when missing. */
export function removeTemporary(dataDir: string, dataset: string): void {
  const folder = temporaryFolder(dataDir);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder))
    if (name.startsWith(temporaryPrefix(dataset))) rmSync(join(folder, name), { recursive: true });
}

/** Replaces a published snapshot's manifest whole. Throws the system's error, and then it is as it was. */
export function replaceManifest(dataDir: string, manifest: Manifest): void {
  const folder = snapshotFolder(dataDir, manifest.dataset, manifest.snapshot_id);
  writeJson(join(folder, manifestName), manifest);
}

function writeJson(path: string, content: unknown): void {
  replaceFile(path, `${JSON.stringify(content, null, 2)}\n`);
}
