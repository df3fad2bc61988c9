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

/** The file that names the current snapshot of each dataset. */
export function currentPath(dataDir: string): string {
  return join(snapshotsFolder(dataDir), 'CURRENT.json');
}
