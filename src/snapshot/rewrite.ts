import type { PublishedDataset } from '../contract/datasets.ts';
import type { Identity } from '../contract/identity.ts';
import { isoToMicros } from '../core/time.ts';
import { sqlText, withDuckDb } from './duckdb.ts';
import type { RowChange } from './encode-part.ts';
import { listPublishedSnapshots } from './published-parts.ts';
import { type Manifest, type ManifestFile, snapshotOf } from './manifest.ts';
import type { PublishedFiles } from './published-files.ts';
import { type RewriteOptions, type RewrittenPart, memoryMaxMb, rewriteParts } from './rewrite-parts.ts';
import { countMarks, emptyMarks, loadIdentity, markSubjectRows, registerTrim } from './subject-rows.ts';

/**
 * Rewrites parts of a published snapshot without an identity: its rows are removed, and its distinct ids are removed from
 * rows of other persons. A part that becomes empty stays, with its schema. All parts change at once, and every other row is
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
  identity: Identity,
  options: RewriteOptions,
): Promise<RewrittenPart[]> {
  if (!published.listSnapshots(dataset).some(({ id }) => id === snapshotId)) return [];
  const manifest = published.readManifest({ dataset, snapshotId });
  const files = manifest.files.filter(({ name }) => parts.includes(name));
  return rewriteParts(
    published,
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
 * Removes the rows older than `before` (ISO 8601) from every generation of the feed of deletions, in the same way. Returns the
 * parts that had such rows. Throws as `rewriteSnapshot` does.
 */
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
