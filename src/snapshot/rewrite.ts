import { join } from 'node:path';
import { existsSync } from 'node:fs';
import type { Identity } from '../contract/identity.ts';
import { isoToMicros } from '../core/time.ts';
import { datasetNames } from './columns.ts';
import { sqlText, withDuckDb } from './duckdb.ts';
import { snapshotFolder } from './layout.ts';
import { type Manifest, type ManifestFile, currentIds, readCurrent, readManifest } from './manifest.ts';
import { findSnapshots, listPublishedSnapshots } from './list-published.ts';
import { removeSnapshots, removeTemporary } from './publish.ts';
import type { RowChange } from './encode-part.ts';
import { type RewriteOptions, type RewrittenPart, memoryMaxMb, rewriteParts } from './rewrite-parts.ts';
import {
  type PersonalDataset,
  countMarks,
  emptyMarks,
  loadIdentity,
  markSubjectRows,
  registerTrim,
} from './subject-rows.ts';
import { filesOf, removeUnnamedOf } from './remove-unnamed.ts';

/**
 * Rewrites parts of a published snapshot without an identity: its rows are left out, and its distinct ids out of the rows
 * of others. A part that becomes empty stays, with its schema. All parts change at once, and every other row is proved to
 * be as it was; CURRENT stays valid. Parts that the manifest does not name any more are passed over, and so is a
 * snapshot that is retired. No other export or rewrite of this dataset may run meanwhile. Throws `storage` for a part that
 * is not what was published and for disk and files, and the signal's reason; killed, or after an error, readers find the old
 * parts or the new, and `removeUnnamedParts` or the next rewrite clears the rest.
 */
export async function rewriteSnapshot(
  dataDir: string,
  dataset: PersonalDataset,
  snapshotId: string,
  parts: readonly string[],
  identity: Identity,
  options: RewriteOptions,
): Promise<RewrittenPart[]> {
  if (!existsSync(snapshotFolder(dataDir, dataset, snapshotId))) return [];
  const manifest = readManifest(dataDir, dataset, snapshotId);
  const files = manifest.files.filter(({ name }) => parts.includes(name));
  return rewriteParts(
    dataDir,
    { dataset, manifest, files, ...options },
    {
      prepare: async (connection) => {
        await loadIdentity(connection, identity);
        registerTrim(connection, dataset, identity);
      },
      mark: (connection, path) => markSubjectRows(connection, dataset, path, identity),
    },
  );
}

/**
 * Takes the rows older than `before` (ISO 8601) out of every generation of the feed of deletions, in the same way. Returns
 * what was rewritten: the parts that had such rows. Throws as `rewriteSnapshot` does.
 */
export async function expireDeletions(
  dataDir: string,
  before: string,
  options: RewriteOptions,
): Promise<RewrittenPart[]> {
  const beforeMicros = isoToMicros(before);
  if (beforeMicros === undefined) throw new Error('a time that is not ISO 8601');
  const change = withoutRowsBefore(beforeMicros);
  const rewritten: RewrittenPart[] = [];
  for (const { dataset, manifest } of listPublishedSnapshots(dataDir)) {
    if (dataset !== 'deletions') continue;
    const files = await filesToChange(dataDir, manifest, change, options.signal);
    rewritten.push(...(await rewriteParts(dataDir, { dataset, manifest, files, ...options }, change)));
  }
  return rewritten;
}

/** A file of a snapshot that its manifest does not name: no reader finds it, and nothing else may rest in it. */
export type UnnamedFile = { dataset: string; snapshotId: string; name: string };

/**
 * Deletes every file of the snapshots that no reader can find, which is what a kill leaves: parts that their manifest
 * does not name, drafts, and folders that were never published. Returns them, what lay in the temporary folder excepted.
 * Nothing else may write snapshots meanwhile. Throws `storage` when CURRENT or a manifest is damaged, and then has
 * deleted nothing.
 */
export function removeUnnamedParts(dataDir: string): UnnamedFile[] {
  const published = listPublishedSnapshots(dataDir);
  const removed: UnnamedFile[] = published.flatMap(({ dataset, snapshotId, manifest }) =>
    removeUnnamedOf(dataDir, manifest).map((name) => ({ dataset, snapshotId, name })),
  );
  const current = readCurrent(dataDir);
  for (const dataset of datasetNames) {
    removeTemporary(dataDir, dataset);
    const unpublished = findSnapshots(dataDir, dataset)
      .filter(({ id, hasManifest }) => !hasManifest && !currentIds(current, dataset).includes(id))
      .map(({ id }) => id);
    for (const snapshotId of unpublished)
      removed.push(...filesOf(dataDir, dataset, snapshotId).map((name) => ({ dataset, snapshotId, name })));
    removeSnapshots(dataDir, dataset, unpublished);
  }
  return removed;
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
  dataDir: string,
  { dataset, snapshot_id, files }: Manifest,
  { prepare, mark }: RowChange,
  signal: AbortSignal,
): Promise<ManifestFile[]> {
  const folder = snapshotFolder(dataDir, dataset, snapshot_id);
  return withDuckDb({ folder, memoryMaxMb, threads: 1, signal }, async (connection) => {
    await prepare(connection);
    const found: ManifestFile[] = [];
    for (const file of files)
      if ((await mark(connection, join(folder, file.name))).gone > 0) found.push(file);
    return found;
  });
}
