import { statSync } from 'node:fs';
import { join } from 'node:path';
import { sha256File } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import { sqlText } from './duckdb.ts';
import { snapshotFolder } from './layout.ts';
import { type ManifestFile, readCurrent, readManifest } from './manifest.ts';
import { queryParquet } from './read-parquet.ts';

/** What is wrong with a published file. `unreadable` and `rows` are about files whose bytes are as published. */
export type SnapshotProblem = {
  dataset: string;
  snapshotId: string;
  /** `manifest.json` or a part's name. */
  file: string;
  problem: 'damaged' | 'missing' | 'size' | 'sha256' | 'unreadable' | 'rows';
};

/** What was checked, and what was wrong with it. */
export type SnapshotCheck = { files: number; bytes: number; problems: SnapshotProblem[] };

/**
 * Reads every file that CURRENT names, and holds it against its manifest: size, SHA-256, and the rows that its own footer
 * counts. Throws `storage` only when CURRENT itself is damaged; the signal's reason when aborted.
 */
export async function verifySnapshots(dataDir: string, signal?: AbortSignal): Promise<SnapshotCheck> {
  const check: SnapshotCheck = { files: 0, bytes: 0, problems: [] };
  for (const [dataset, { snapshot_id: snapshotId }] of Object.entries(readCurrent(dataDir).snapshots)) {
    const report = (file: string, problem: SnapshotProblem['problem'] | undefined): void => {
      if (problem) check.problems.push({ dataset, snapshotId, file, problem });
    };
    const files = manifestFiles(dataDir, dataset, snapshotId);
    if (!files) report('manifest.json', 'damaged');
    for (const file of files ?? []) {
      signal?.throwIfAborted();
      check.files += 1;
      check.bytes += file.bytes;
      report(file.name, await problemOf(snapshotFolder(dataDir, dataset, snapshotId), file));
    }
  }
  return check;
}

function manifestFiles(dataDir: string, dataset: string, snapshotId: string): ManifestFile[] | undefined {
  try {
    const manifest = readManifest(dataDir, dataset, snapshotId);
    const rows = manifest.files.reduce((sum, file) => sum + file.rows, 0);
    const isOfThisSnapshot = manifest.dataset === dataset && manifest.snapshot_id === snapshotId;
    return isOfThisSnapshot && rows === manifest.rows ? manifest.files : undefined;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

async function problemOf(
  folder: string,
  file: ManifestFile,
): Promise<SnapshotProblem['problem'] | undefined> {
  const path = join(folder, file.name);
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) return 'missing';
  if (size !== file.bytes) return 'size';
  if ((await sha256File(path)) !== file.sha256) return 'sha256';
  try {
    const [footer] = await queryParquet(
      folder,
      `SELECT num_rows FROM parquet_file_metadata(${sqlText(path)})`,
    );
    return footer?.['num_rows'] === BigInt(file.rows) ? undefined : 'rows';
  } catch (error) {
    if (error instanceof AppError) return 'unreadable';
    throw error;
  }
}
