import { AppError } from '../core/errors.ts';
import type { SnapshotName } from '../snapshot/file-names.ts';
import { currentIds } from '../snapshot/manifest.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import { type RetentionPlan, planRetention } from './retention-plan.ts';

/** Deletes what an export of the dataset left that did not come to its end. Never touches what was published. */
export function clearUnpublished(published: PublishedFiles, dataset: string): void {
  published.removeDrafts(dataset);
  published.removeSnapshots(dataset, planNow(published, dataset, Infinity).abandoned);
}

/** Deletes the published snapshots beyond the `keep` newest, never the current one; returns their ids. */
export function removeExpired(published: PublishedFiles, dataset: string, keep: number): string[] {
  const { expired } = planNow(published, dataset, keep);
  published.removeSnapshots(dataset, expired);
  return expired;
}

/** Deletes a snapshot whose publishing was cut off; never one that CURRENT names. */
export function withdrawSnapshot(published: PublishedFiles, { dataset, snapshotId }: SnapshotName): void {
  const isPublished = currentIds(published.readCurrent(), dataset).includes(snapshotId);
  const isThere = published.listSnapshots(dataset).some(({ id }) => id === snapshotId);
  if (isThere && !isPublished) published.removeSnapshots(dataset, [snapshotId]);
}

function planNow(published: PublishedFiles, dataset: string, keep: number): RetentionPlan {
  const found = published
    .listSnapshots(dataset)
    .map(({ id, hasManifest }) => ({ id, hasManifest, kind: kindOf(published, { dataset, snapshotId: id }) }));
  return planRetention(found, currentIds(published.readCurrent(), dataset), keep);
}

function kindOf(published: PublishedFiles, snapshot: SnapshotName): 'full' | 'delta' {
  try {
    return published.readManifest(snapshot).kind;
  } catch (error) {
    if (error instanceof AppError) return 'full';
    throw error;
  }
}
