import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../core/errors.ts';
import { explainStorageError } from '../core/storage-error.ts';
import type { Dataset } from './columns.ts';
import { withDuckDb } from './duckdb.ts';
import { temporaryFolder } from '../core/temporary-folder.ts';
import { partName, partNumber, snapshotFolder, temporaryPrefix } from './layout.ts';
import { type Manifest, type ManifestFile, readManifest } from './manifest.ts';
import { replaceParts } from './replace-parts.ts';
import { type RowChange, encodePartAnew } from './encode-part.ts';
import { storageError } from './storage-error.ts';
import { removeUnnamedOf } from './remove-unnamed.ts';

/** A part that was replaced by a new one. */
export type RewrittenPart = {
  snapshotId: string;
  name: string;
  newName: string;
  rowsBefore: number;
  rowsRemoved: number;
};

/** How parts are rewritten. `epoch`: what the manifest says from then on. */
export type RewriteOptions = { epoch: number; signal: AbortSignal };

/** What a rewrite may use. */
export const memoryMaxMb = 512;

/** Which files of which snapshot. */
type Rewrite = RewriteOptions & {
  dataset: Dataset;
  manifest: Manifest;
  files: readonly ManifestFile[];
};

/** Rewrites files of a published snapshot, all of them at once or none, as `rewriteSnapshot` promises. */
export async function rewriteParts(
  dataDir: string,
  { dataset, manifest, files, epoch, signal }: Rewrite,
  { prepare, mark }: RowChange,
): Promise<RewrittenPart[]> {
  const { snapshot_id: snapshotId, columns } = manifest;
  const folder = snapshotFolder(dataDir, dataset, snapshotId);
  const draftFolder = join(temporaryFolder(dataDir), `${temporaryPrefix(dataset)}${snapshotId}.rewritten`);
  rmSync(draftFolder, { recursive: true, force: true });
  removeUnnamedOf(dataDir, manifest);
  if (files.length === 0) return [];
  mkdirSync(draftFolder, { recursive: true, mode: 0o700 });
  let number = Math.max(...manifest.files.map(({ name }) => partNumber(name) ?? 0));
  const replacements = new Map<string, ManifestFile>();
  try {
    // One thread: the rows stay in their order.
    const limits = { folder: dataDir, memoryMaxMb, threads: 1, signal };
    const rewritten = await withDuckDb(limits, async (connection) => {
      await prepare(connection);
      const parts: RewrittenPart[] = [];
      for (const file of files) {
        signal.throwIfAborted();
        const part = { dataset, snapshotId, file, path: join(folder, file.name) };
        const name = partName((number += 1));
        const to = { name, path: join(draftFolder, name) };
        const encoded = await encodePartAnew(connection, part, columns, to, mark);
        replacements.set(file.name, encoded.file);
        parts.push({
          snapshotId,
          name: file.name,
          newName: name,
          rowsBefore: file.rows,
          rowsRemoved: encoded.removed,
        });
      }
      return parts;
    });
    signal.throwIfAborted();
    replaceParts(dataDir, draftFolder, manifest, replacements, epoch);
    return rewritten;
  } catch (error) {
    if (signal.aborted || error instanceof AppError) throw error;
    throw explainStorageError(error, dataDir) ?? storageError('rewrite published files', error);
  } finally {
    clearQuietly(dataDir, dataset, snapshotId, draftFolder);
  }
}

/** Clears what this rewrite left, be it the new files or the old. */
function clearQuietly(dataDir: string, dataset: Dataset, snapshotId: string, draftFolder: string): void {
  try {
    rmSync(draftFolder, { recursive: true, force: true });
    removeUnnamedOf(dataDir, readManifest(dataDir, dataset, snapshotId));
  } catch {
    // The error that brought us here is the one to report, and the next run clears again.
  }
}
