import { AppError } from '../core/errors.ts';
import { currentIds, readCurrent, readManifest } from '../snapshot/manifest.ts';
import { findSnapshots } from '../snapshot/list-published.ts';
import { removeSnapshots, removeTemporary } from '../snapshot/publish.ts';
import { type RetentionPlan, planRetention } from './retention-plan.ts';

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

/** Deletes a snapshot that an export did not come to the end of publishing; none that CURRENT names. */
export function withdrawSnapshot(dataDir: string, dataset: string, snapshotId: string): void {
  const isPublished = currentIds(readCurrent(dataDir), dataset).includes(snapshotId);
  const isThere = findSnapshots(dataDir, dataset).some(({ id }) => id === snapshotId);
  if (isThere && !isPublished) removeSnapshots(dataDir, dataset, [snapshotId]);
}

function planNow(dataDir: string, dataset: string, keep: number): RetentionPlan {
  const found = findSnapshots(dataDir, dataset).map(({ id, hasManifest }) => ({
    id,
    hasManifest,
    kind: kindOf(dataDir, dataset, id),
  }));
  return planRetention(found, currentIds(readCurrent(dataDir), dataset), keep);
}

function kindOf(dataDir: string, dataset: string, snapshotId: string): 'full' | 'delta' {
  try {
    return readManifest(dataDir, dataset, snapshotId).kind;
  } catch (error) {
    if (error instanceof AppError) return 'full';
    throw error;
  }
}
