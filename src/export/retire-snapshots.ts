import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { datasetFolder, manifestName, snapshotFolder } from '../snapshot/layout.ts';
import { readCurrent } from '../snapshot/manifest.ts';
import { removeSnapshots, removeTemporary } from '../snapshot/publish.ts';
import { snapshotIdPattern } from '../snapshot/snapshot-id.ts';
import { type FoundSnapshot, type RetentionPlan, planRetention } from './retention-plan.ts';

/** The snapshots of a dataset that are on disk, oldest first. Folders that are not snapshots are not seen. */
export function findSnapshots(dataDir: string, dataset: string): FoundSnapshot[] {
  const folder = datasetFolder(dataDir, dataset);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => snapshotIdPattern.test(name))
    .toSorted()
    .map((id) => ({ id, hasManifest: existsSync(join(snapshotFolder(dataDir, dataset, id), manifestName)) }));
}

/** Deletes what an export of the dataset left that did not come to its end. Never touches what was published. */
export function clearUnpublished(dataDir: string, dataset: string): void {
  removeTemporary(dataDir, dataset);
  removeSnapshots(dataDir, dataset, planNow(dataDir, dataset, Infinity).abandoned);
}

/** Deletes the published snapshots beyond the `keep` newest, never the current one; returns their ids. */
export function removeExpired(dataDir: string, dataset: string, keep: number): string[] {
  const { expired } = planNow(dataDir, dataset, keep);
  removeSnapshots(dataDir, dataset, expired);
  return expired;
}

function planNow(dataDir: string, dataset: string, keep: number): RetentionPlan {
  const currentId = readCurrent(dataDir).snapshots[dataset]?.snapshot_id;
  return planRetention(findSnapshots(dataDir, dataset), currentId, keep);
}
