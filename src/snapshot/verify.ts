import { sha256File } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import { publishedDatasets } from '../contract/datasets.ts';
import { sqlText } from './duckdb.ts';
import { type SnapshotName, manifestName } from './file-names.ts';
import { type Manifest, type ManifestFile, currentIds, snapshotOf } from './manifest.ts';
import type { PublishedFiles } from './published-files.ts';
import { queryParquet } from './read-parquet.ts';
import { unnamedParts } from './publish.ts';

/** What is wrong with a published file. An `unnamed` part is in no manifest: not read, but it can hold persons. */
export type SnapshotProblem = {
  dataset: string;
  snapshotId: string;
  /** `manifest.json` or a part's name. */
  file: string;
  problem: 'damaged' | 'missing' | 'size' | 'sha256' | 'unreadable' | 'rows' | 'unnamed';
};

/** How much was checked, and the problems that were found. */
export type SnapshotCheck = { files: number; bytes: number; problems: SnapshotProblem[] };

/**
 * Reads every file of every generation of every dataset, and compares it with its manifest: size, SHA-256, and the rows that
 * its own footer counts. Also finds parts that no manifest names, which a kill can leave. Throws `storage` only when
 * CURRENT itself is damaged; the signal's reason when aborted.
 */
export async function verifySnapshots(published: PublishedFiles, signal?: AbortSignal): Promise<SnapshotCheck> {
  const check: SnapshotCheck = { files: 0, bytes: 0, problems: [] };
  for (const { wasPublished, ...snapshot } of snapshotsOf(published)) {
    const report = (file: string, problem: SnapshotProblem['problem'] | undefined): void => {
      if (problem) check.problems.push({ ...snapshot, file, problem });
    };
    const manifest = wasPublished ? soundManifest(published, snapshot) : undefined;
    for (const file of manifest?.files ?? []) {
      signal?.throwIfAborted();
      check.files += 1;
      check.bytes += file.bytes;
      report(file.name, await problemOf(published, snapshot, file));
    }
    if (wasPublished && !manifest) report(manifestName, 'damaged');
    else for (const name of unnamedParts(published, snapshot, manifest)) report(name, 'unnamed');
  }
  return check;
}

type SnapshotToCheck = SnapshotName & { wasPublished: boolean };

/** Every snapshot on disk, and those that CURRENT names, on disk or not. */
function snapshotsOf(published: PublishedFiles): SnapshotToCheck[] {
  const current = published.readCurrent();
  const names = new Set([...publishedDatasets, ...Object.keys(current.snapshots)]);
  return [...names].flatMap((dataset) => {
    const found = new Map(published.listSnapshots(dataset).map(({ id, hasManifest }) => [id, hasManifest]));
    for (const id of currentIds(current, dataset)) found.set(id, true);
    return [...found].map(([snapshotId, wasPublished]) => ({ dataset, snapshotId, wasPublished }));
  });
}

function soundManifest(published: PublishedFiles, snapshot: SnapshotName): Manifest | undefined {
  try {
    const manifest = published.readManifest(snapshot);
    const rows = manifest.files.reduce((sum, file) => sum + file.rows, 0);
    const { dataset, snapshotId } = snapshotOf(manifest);
    const isOfThisSnapshot = dataset === snapshot.dataset && snapshotId === snapshot.snapshotId;
    return isOfThisSnapshot && rows === manifest.rows ? manifest : undefined;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

async function problemOf(
  published: PublishedFiles,
  snapshot: SnapshotName,
  file: ManifestFile,
): Promise<SnapshotProblem['problem'] | undefined> {
  const size = published.sizeOf(snapshot, file.name);
  if (size === undefined) return 'missing';
  if (size !== file.bytes) return 'size';
  const path = published.localPath(snapshot, file.name);
  if ((await sha256File(path)) !== file.sha256) return 'sha256';
  try {
    const [footer] = await queryParquet(
      published.localFolder,
      `SELECT num_rows FROM parquet_file_metadata(${sqlText(path)})`,
    );
    return footer?.['num_rows'] === BigInt(file.rows) ? undefined : 'rows';
  } catch (error) {
    if (error instanceof AppError) return 'unreadable';
    throw error;
  }
}
