import type { DuckDBConnection } from '@duckdb/node-api';
import type { PublishedDataset } from '../contract/datasets.ts';
import { unionOf, withoutReusableId, type Identity } from '../contract/identity.ts';
import { isoToMicros } from '../core/time.ts';
import { parquetRows, withDuckDb } from './duckdb.ts';
import { type RowChange, type Twin, checkParts, encodePart, refuseMarked } from './encode-part.ts';
import { listPublishedSnapshots, type PublishedPart } from './published-parts.ts';
import { prepareRemovedRows, noteRemovedRows } from './iceberg/position-deletes.ts';
import { type PreparedTable, prepareTable } from './iceberg/prepare-table.ts';
import { settleTables } from './iceberg/publish-table.ts';
import { readTable, tableFolder } from './iceberg/table-files.ts';
import { snapshotsOfChain } from './iceberg/table-metadata.ts';
import { type Manifest, type ManifestFile, snapshotOf } from './manifest.ts';
import type { PublishedFiles } from './published-files.ts';
import { emptyMarks, markedParts, markSubjectRows, registerTrim, rowPlace } from './mark-rows.ts';
import { dirname, join } from 'node:path';
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
  rowsRemovedOf: readonly number[];
};

/** Parts that were rewritten without the same identities, by the SHA-256 that they had: generations have many with the same bytes. */
export type Twins = Map<string, Twin>;

/**
 * How parts are rewritten. `epoch`: the erasure epoch that the manifest says from then on. `twins`: those of other snapshots, to which
 * those of this one are added.
 */
type RewriteOptions = { epoch: number; signal: AbortSignal; twins?: Twins };

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
  subjects: readonly Identity[],
  options: RewriteOptions,
): Promise<RewrittenPart[]> {
  if (!published.listSnapshots(dataset).some(({ id }) => id === snapshotId)) return [];
  const manifest = published.readManifest({ dataset, snapshotId });
  const files = manifest.files.filter(({ name }) => parts.includes(name));
  // Of each by itself: the uuid of one says nothing of another's integer id.
  const identities = subjects.map(withoutReusableId);
  return rewriteParts(
    published,
    { dataset, manifest, files, ...options },
    {
      subjects: identities.length,
      prepare: (connection) => registerTrim(connection, dataset, unionOf(identities)),
      mark: (connection, paths) => markSubjectRows(connection, dataset, paths, identities),
    },
  );
}

/**
 * Removes rows older than `before` (ISO 8601) from the feed of deletions, but none with a number above `through`, as
 * `rewriteSnapshot`. Returns the parts.
 */
export async function expireDeletions(
  published: PublishedFiles,
  { before, through }: { before: string; through: number },
  options: RewriteOptions,
): Promise<RewrittenPart[]> {
  const beforeMicros = isoToMicros(before);
  if (beforeMicros === undefined) throw new Error('a time that is not ISO 8601');
  const change = withoutRowsBefore(beforeMicros, through);
  const rewritten: RewrittenPart[] = [];
  for (const { dataset, manifest } of listPublishedSnapshots(published)) {
    if (dataset !== 'deletions') continue;
    const files = await filesToChange(published, manifest, change, options.signal);
    rewritten.push(...(await rewriteParts(published, { dataset, manifest, files, ...options }, change)));
  }
  return rewritten;
}

function withoutRowsBefore(micros: bigint, through: number): RowChange {
  return {
    subjects: 0,
    prepare: () => {},
    mark: async (connection, paths) => {
      await emptyMarks(connection);
      await connection.run(`INSERT INTO gone (file, row) SELECT ${rowPlace} FROM ${parquetRows(paths)}
        WHERE epoch_us(deleted_at) < ${micros}${Number.isFinite(through) ? ` AND _seq <= ${through}` : ''}`);
    },
  };
}

async function filesToChange(
  published: PublishedFiles,
  manifest: Manifest,
  { mark }: RowChange,
  signal: AbortSignal,
): Promise<ManifestFile[]> {
  const limits = { folders: [published.localFolder], memoryMaxMb, threads: 1, signal };
  return withDuckDb(limits, async (connection) => {
    await mark(
      connection,
      manifest.files.map(({ name }) => published.localPath(snapshotOf(manifest), name)),
    );
    return (await markedParts(connection)).flatMap((number) => manifest.files[number] ?? []);
  });
}

/** The files to rewrite, and their snapshot. */
type Rewrite = RewriteOptions & { dataset: PublishedDataset; manifest: Manifest; files: readonly ManifestFile[] };

/** Rewrites files of a published snapshot, all of them at once or none, as `rewriteSnapshot` promises. */
async function rewriteParts(
  published: PublishedFiles,
  { dataset, manifest, files, epoch, signal, twins = new Map() }: Rewrite,
  { subjects, prepare, mark }: RowChange,
): Promise<RewrittenPart[]> {
  const { snapshot_id: snapshotId, columns } = manifest;
  const snapshot = { dataset, snapshotId };
  published.removeDraft(snapshot);
  settleTables(published);
  removeUnnamedOf(published, manifest);
  if (files.length === 0) return [];
  const draft = published.openDraft(snapshot);
  let number = Math.max(...manifest.files.map(({ name }) => partNumber(name) ?? 0));
  const replacements = new Map<string, ManifestFile>();
  const encodedHere: Twins = new Map();
  const after = (): Manifest => {
    const all = manifest.files.map((file) => replacements.get(file.name) ?? file);
    const rows = all.reduce((sum, file) => sum + file.rows, 0);
    return { ...manifest, erasure_epoch: epoch, rows, files: all };
  };
  try {
    // One thread: the rows stay in their order.
    const limits = { folders: [published.localFolder, dirname(draft)], memoryMaxMb, threads: 1, signal };
    const { parts: rewritten, table } = await withDuckDb(limits, async (connection) => {
      prepare(connection);
      await prepareRemovedRows(connection);
      const marked = files.map((file, at) => {
        const path = published.localPath(snapshot, file.name);
        return { ...file, dataset, snapshotId, path, number: at };
      });
      await checkParts(connection, marked);
      await mark(
        connection,
        marked.map(({ path }) => path),
      );
      const parts: RewrittenPart[] = [];
      const trimmed: { part: PublishedPart; path: string }[] = [];
      for (const part of marked) {
        signal.throwIfAborted();
        const { name, sha256, rows: rowsBefore } = part;
        const newName = partName((number += 1));
        const to = { name: newName, path: join(draft, newName) };
        const encoded = await encodePart(connection, part, columns, to, subjects, twins.get(sha256));
        await noteRemovedRows(connection, to.path, encoded.removed);
        replacements.set(name, encoded.file);
        encodedHere.set(sha256, { ...encoded, copyTo: (path) => published.copyFile(snapshot, newName, path) });
        if (encoded.isTrimmed) trimmed.push({ part, path: to.path });
        const { removed, removedOf: rowsRemovedOf } = encoded;
        parts.push({ snapshotId, name, newName, rowsBefore, rowsRemoved: removed.length, rowsRemovedOf });
      }
      await refuseMarked(connection, mark, trimmed);
      const table = await rewrittenTable(connection, published, dataset, after(), draft, replacements);
      return { parts, table };
    });
    signal.throwIfAborted();
    replaceParts(published, after(), [...replacements.keys()], table);
    for (const [digest, encoded] of encodedHere) twins.set(digest, encoded);
    return rewritten;
  } catch (error) {
    if (signal.aborted || error instanceof AppError) throw error;
    throw explainStorageError(error, published.location) ?? storageError('rewrite published files', error);
  } finally {
    clearQuietly(published, snapshot);
  }
}

/** The table of a dataset after a rewrite: what it shows of the past is without the removed rows, too. */
async function rewrittenTable(
  connection: DuckDBConnection,
  published: PublishedFiles,
  dataset: PublishedDataset,
  after: Manifest,
  draft: string,
  replacements: ReadonlyMap<string, ManifestFile>,
): Promise<PreparedTable | undefined> {
  const previous = readTable(published, dataset);
  if (!previous) return undefined;
  const { entry, metadata } = previous;
  const shown = metadata.snapshots.find(({ summary }) => summary['analytics-mirror.snapshot'] === after.snapshot_id);
  if (!shown) return { files: [], drafts: [], entry };
  const chain = snapshotsOfChain(metadata, shown.summary['analytics-mirror.full'])
    .map(({ summary }) => summary['analytics-mirror.snapshot'])
    .map((id) => (id === after.snapshot_id ? after : published.readManifest({ dataset, snapshotId: id })));
  const replaced = new Map([...replacements].map(([old, { name }]) => [name, old]));
  return prepareTable(connection, {
    published,
    dataset,
    location: metadata.location,
    chain,
    written: after,
    pathOf: (manifest, { name }) =>
      manifest === after && replaced.has(name) ? join(draft, name) : published.localPath(snapshotOf(manifest), name),
    previous,
    change: { is: 'rewrite', replaced },
  });
}

/** Deletes what this rewrite left: its draft, and either the new parts or the old ones. */
function clearQuietly(published: PublishedFiles, snapshot: SnapshotName): void {
  try {
    published.removeDraft(snapshot);
    published.removeDraft(tableFolder(snapshot.dataset));
    settleTables(published);
    removeUnnamedOf(published, published.readManifest(snapshot));
  } catch {
    // The first error is the one to report, and the next run clears again.
  }
}
