import type { PublishedDataset } from '../contract/datasets.ts';
import { unionOf, type Identity } from '../contract/identity.ts';
import { isoToMicros } from '../core/time.ts';
import { sqlText, withDuckDb } from './duckdb.ts';
import { type RowChange, encodePart } from './encode-part.ts';
import { listPublishedSnapshots } from './published-parts.ts';
import { type Manifest, type ManifestFile, snapshotOf } from './manifest.ts';
import type { PublishedFiles } from './published-files.ts';
import { countOwned, loadOwners } from './owned-rows.ts';
import { countMarks, emptyMarks, markSubjectRows, registerTrim } from './subject-rows.ts';
import { join } from 'node:path';
import { AppError } from '../core/errors.ts';
import { explainStorageError } from '../core/storage-error.ts';
import { type SnapshotName, partName, partNumber } from './file-names.ts';
import { replaceParts, removeUnnamedOf } from './publish.ts';
import { storageError } from './storage-error.ts';

/** A part that was replaced by a new one. */
type RewrittenPart = {
  snapshotId: string;
  name: string;
  newName: string;
  rowsBefore: number;
  rowsRemoved: number;
  /** Of these, the rows of each identity: a row of two counts for both. */
  rowsRemovedOf: number[];
};

/** How parts are rewritten. `epoch`: the erasure epoch that the manifest says from then on. */
type RewriteOptions = { epoch: number; signal: AbortSignal };

/** The memory that DuckDB may use for a rewrite. */
const memoryMaxMb = 512;

/**
 * Rewrites parts of a published snapshot without some identities: their rows are removed, and their distinct ids are removed
 * from rows of other persons. A part that becomes empty stays, with its schema. All parts change at once, and every other row is
 * proved to be unchanged; CURRENT stays valid. Parts that the manifest names no more are passed over, and so is a snapshot
 * that is retired. No other export or rewrite of this dataset may run meanwhile. Throws `storage` for a part that differs from
 * what was published and for disk and files, and the signal's reason. After an error or a kill, readers find either the old
 * parts or the new ones, and `removeUnnamedParts` or the next rewrite clears the rest.
 */
export async function rewriteSnapshot(
  published: PublishedFiles,
  dataset: PublishedDataset,
  snapshotId: string,
  parts: readonly string[],
  identities: readonly Identity[],
  options: RewriteOptions,
): Promise<RewrittenPart[]> {
  if (!published.listSnapshots(dataset).some(({ id }) => id === snapshotId)) return [];
  const manifest = published.readManifest({ dataset, snapshotId });
  const files = manifest.files.filter(({ name }) => parts.includes(name));
  const identity = unionOf(identities);
  return rewriteParts(
    published,
    { dataset, manifest, files, ...options },
    {
      prepare: async (connection) => {
        // The rows of a single one need no owner.
        if (identities.length > 1) await loadOwners(connection, identities);
        registerTrim(connection, dataset, identity);
      },
      mark: async (connection, path) => {
        const marked = await markSubjectRows(connection, dataset, path, identity);
        if (marked.gone === 0 || identities.length < 2) return marked;
        return { ...marked, goneOf: await countOwned(connection, dataset, path, identities.length) };
      },
    },
  );
}

/** Removes rows older than `before` (ISO 8601) from the feed of deletions, as `rewriteSnapshot`. Returns the parts. */
export async function expireDeletions(
  published: PublishedFiles,
  before: string,
  options: RewriteOptions,
): Promise<RewrittenPart[]> {
  const beforeMicros = isoToMicros(before);
  if (beforeMicros === undefined) throw new Error('a time that is not ISO 8601');
  const change = withoutRowsBefore(beforeMicros);
  const rewritten: RewrittenPart[] = [];
  for (const { dataset, manifest } of listPublishedSnapshots(published)) {
    if (dataset !== 'deletions') continue;
    const files = await filesToChange(published, manifest, change, options.signal);
    rewritten.push(...(await rewriteParts(published, { dataset, manifest, files, ...options }, change)));
  }
  return rewritten;
}

function withoutRowsBefore(micros: bigint): RowChange {
  return {
    prepare: () => Promise.resolve(),
    mark: async (connection, path) => {
      await emptyMarks(connection);
      await connection.run(`INSERT INTO gone SELECT file_row_number FROM read_parquet(${sqlText(path)})
        WHERE epoch_us(deleted_at) < ${micros}`);
      return { ...(await countMarks(connection)), trimmedColumn: undefined };
    },
  };
}

async function filesToChange(
  published: PublishedFiles,
  manifest: Manifest,
  { prepare, mark }: RowChange,
  signal: AbortSignal,
): Promise<ManifestFile[]> {
  const limits = { folders: [published.localFolder], memoryMaxMb, threads: 1, signal };
  return withDuckDb(limits, async (connection) => {
    await prepare(connection);
    const found: ManifestFile[] = [];
    for (const file of manifest.files) {
      const path = published.localPath(snapshotOf(manifest), file.name);
      if ((await mark(connection, path)).gone > 0) found.push(file);
    }
    return found;
  });
}

/** The files to rewrite, and their snapshot. */
type Rewrite = RewriteOptions & { dataset: PublishedDataset; manifest: Manifest; files: readonly ManifestFile[] };

/** Rewrites files of a published snapshot, all of them at once or none, as `rewriteSnapshot` promises. */
async function rewriteParts(
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
        const { removed: rowsRemoved, removedOf: rowsRemovedOf } = encoded;
        parts.push({ snapshotId, name, newName, rowsBefore, rowsRemoved, rowsRemovedOf });
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
