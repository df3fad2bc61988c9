import { join } from 'node:path';
import { AppError } from '../core/errors.ts';
import { explainStorageError } from '../core/storage-error.ts';
import type { PublishedDataset } from '../contract/datasets.ts';
import { withDuckDb } from './duckdb.ts';
import { type RowChange, encodePart } from './encode-part.ts';
import { type SnapshotName, partName, partNumber } from './file-names.ts';
import type { Manifest, ManifestFile } from './manifest.ts';
import { replaceParts } from './publish.ts';
import type { PublishedFiles } from './published-files.ts';
import { removeUnnamedOf } from './remove-unnamed.ts';
import { storageError } from './storage-error.ts';

/** A part that was replaced by a new one. */
export type RewrittenPart = {
  snapshotId: string;
  name: string;
  newName: string;
  rowsBefore: number;
  rowsRemoved: number;
};

/** How parts are rewritten. `epoch`: the erasure epoch that the manifest says from then on. */
export type RewriteOptions = { epoch: number; signal: AbortSignal };

/** The memory that DuckDB may use for a rewrite. */
export const memoryMaxMb = 512;

/** The files to rewrite, and their snapshot. */
type Rewrite = RewriteOptions & { dataset: PublishedDataset; manifest: Manifest; files: readonly ManifestFile[] };

/** Rewrites files of a published snapshot, all of them at once or none, as `rewriteSnapshot` promises. */
export async function rewriteParts(
  published: PublishedFiles,
  { dataset, manifest, files, epoch, signal }: Rewrite,
  { prepare, mark }: RowChange,
): Promise<RewrittenPart[]> {
  const { snapshot_id: snapshotId, columns } = manifest;
  const snapshot = { dataset, snapshotId };
  published.removeDraft(snapshot);
  removeUnnamedOf(published, manifest);
  if (files.length === 0) return [];
  const draft = published.openDraft(snapshot);
  let number = Math.max(...manifest.files.map(({ name }) => partNumber(name) ?? 0));
  const replacements = new Map<string, ManifestFile>();
  try {
    // One thread: the rows stay in their order.
    const limits = { folders: [published.localFolder, draft], memoryMaxMb, threads: 1, signal };
    const rewritten = await withDuckDb(limits, async (connection) => {
      await prepare(connection);
      const parts: RewrittenPart[] = [];
      for (const file of files) {
        signal.throwIfAborted();
        const part = { dataset, snapshotId, file, path: published.localPath(snapshot, file.name) };
        const newName = partName((number += 1));
        const to = { name: newName, path: join(draft, newName) };
        const encoded = await encodePart(connection, part, columns, to, mark);
        replacements.set(file.name, encoded.file);
        const { name, rows: rowsBefore } = file;
        parts.push({ snapshotId, name, newName, rowsBefore, rowsRemoved: encoded.removed });
      }
      return parts;
    });
    signal.throwIfAborted();
    replaceParts(published, manifest, replacements, epoch);
    return rewritten;
  } catch (error) {
    if (signal.aborted || error instanceof AppError) throw error;
    throw explainStorageError(error, published.location) ?? storageError('rewrite published files', error);
  } finally {
    clearQuietly(published, snapshot);
  }
}

/** Deletes what this rewrite left: its draft, and either the new parts or the old ones. */
function clearQuietly(published: PublishedFiles, snapshot: SnapshotName): void {
  try {
    published.removeDraft(snapshot);
    removeUnnamedOf(published, published.readManifest(snapshot));
  } catch {
    // The first error is the one to report, and the next run clears again.
  }
}
