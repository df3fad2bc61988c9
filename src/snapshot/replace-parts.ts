import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { syncToDisk } from '../core/atomic-file.ts';
import { snapshotFolder } from './layout.ts';
import type { Manifest, ManifestFile } from './manifest.ts';
import { replaceManifest } from './publish.ts';

/**
 * Puts new parts in the place of old ones in a published snapshot, all at once: the manifest is replaced when the new
 * files are durably there, and only then are the old ones deleted. Killed at any point, readers find the old parts or the
 * new, whole, and `removeUnnamedParts` clears the rest. Throws the system's error.
 */
export function replaceParts(
  dataDir: string,
  draftFolder: string,
  manifest: Manifest,
  replacements: ReadonlyMap<string, ManifestFile>,
  epoch: number,
): void {
  const folder = snapshotFolder(dataDir, manifest.dataset, manifest.snapshot_id);
  for (const { name } of replacements.values()) {
    syncToDisk(join(draftFolder, name));
    renameSync(join(draftFolder, name), join(folder, name));
  }
  syncToDisk(folder);
  const files = manifest.files.map((file) => replacements.get(file.name) ?? file);
  const rows = files.reduce((sum, file) => sum + file.rows, 0);
  replaceManifest(dataDir, { ...manifest, erasure_epoch: epoch, rows, files });
  for (const name of replacements.keys()) rmSync(join(folder, name));
  syncToDisk(folder);
}
