import { join } from 'node:path';

/** Where the snapshots of all datasets are. */
export function snapshotsFolder(dataDir: string): string {
  return join(dataDir, 'snapshots');
}

/** Where the snapshots of one dataset are, a folder each, named by snapshot id. */
export function datasetFolder(dataDir: string, dataset: string): string {
  return join(snapshotsFolder(dataDir), dataset);
}

/** Where one snapshot is: its parts and its manifest. */
export function snapshotFolder(dataDir: string, dataset: string, snapshotId: string): string {
  return join(datasetFolder(dataDir, dataset), snapshotId);
}

/** The file that says what a snapshot holds. A snapshot without one was never published. */
export const manifestName = 'manifest.json';

/** The file that names the current snapshot of each dataset. */
export function currentPath(dataDir: string): string {
  return join(snapshotsFolder(dataDir), 'CURRENT.json');
}

/** The name of the nth part, from 1. */
export function partName(part: number): string {
  return `part-${String(part).padStart(5, '0')}.parquet`;
}

/** The number of a part, from its name; undefined for another file. */
export function partNumber(name: string): number | undefined {
  const digits = /^part-(\d{5,})\.parquet$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/**
 * How the names of all that a dataset's exports keep in the temporary folder begin: what is not published yet, or no
 * longer, until it is complete or gone.
 */
export function temporaryPrefix(dataset: string): string {
  return `snapshot-${dataset}-`;
}
