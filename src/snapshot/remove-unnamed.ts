import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { syncToDisk } from '../core/atomic-file.ts';
import { manifestName, partNumber, snapshotFolder } from './layout.ts';
import type { Manifest } from './manifest.ts';

/** The parts in a snapshot's folder that a manifest does not name; all of them where there is no manifest. */
export function unnamedParts(
  dataDir: string,
  dataset: string,
  snapshotId: string,
  manifest: Manifest | undefined,
): string[] {
  const named = new Set(manifest?.files.map(({ name }) => name));
  return filesOf(dataDir, dataset, snapshotId).filter(
    (name) => partNumber(name) !== undefined && !named.has(name),
  );
}

/** Deletes what a rewrite of a snapshot that was cut off left in its folder, and returns the names of those files. */
export function removeUnnamedOf(dataDir: string, manifest: Manifest): string[] {
  const { dataset, snapshot_id: snapshotId } = manifest;
  const folder = snapshotFolder(dataDir, dataset, snapshotId);
  const drafts = filesOf(dataDir, dataset, snapshotId).filter((name) =>
    name.startsWith(`${manifestName}.draft-`),
  );
  const names = [...unnamedParts(dataDir, dataset, snapshotId, manifest), ...drafts];
  for (const name of names) rmSync(join(folder, name));
  if (names.length > 0) syncToDisk(folder);
  return names;
}

/** The names of all files in a snapshot's folder; none where there is no folder. */
export function filesOf(dataDir: string, dataset: string, snapshotId: string): string[] {
  const folder = snapshotFolder(dataDir, dataset, snapshotId);
  return existsSync(folder) ? readdirSync(folder) : [];
}
