import { isDeepStrictEqual } from 'node:util';
import { propertyOf, type Promotion } from '../config/settings.ts';
import type { SnapshotName } from '../snapshot/file-names.ts';
import { forgetSnapshots, settleTables } from '../snapshot/iceberg/publish-table.ts';
import { currentIds, type Manifest } from '../snapshot/manifest.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import { readIfSound } from '../snapshot/published-parts.ts';
import { type RetentionPlan, planRetention } from './retention-plan.ts';

/** Deletes what an export of the dataset left that did not come to its end. Never touches what was published. */
export function clearUnpublished(published: PublishedFiles, dataset: string): void {
  published.removeDrafts(dataset);
  settleTables(published);
  published.removeSnapshots(dataset, planNow(published, dataset, { keep: Infinity, hiding: [showsAll] }).abandoned);
}

/** How many full snapshots stay, and what those that stay have to hide: as well as one that was published so, any of these. */
type Retention = { keep: number; hiding: readonly Decided[] };

/** Deletes the published snapshots beyond those to keep, never the current one; returns their ids. */
export function removeExpired(published: PublishedFiles, dataset: string, retention: Retention): string[] {
  const { expired } = planNow(published, dataset, retention);
  forgetSnapshots(published, dataset, expired);
  published.removeSnapshots(dataset, expired);
  return expired;
}

/** Deletes snapshots whose publishing was cut off, and their drafts; never what CURRENT names. */
export function withdrawSnapshots(published: PublishedFiles, snapshots: readonly SnapshotName[]): void {
  for (const { dataset, snapshotId } of snapshots) {
    clearUnpublished(published, dataset);
    const isPublished = currentIds(published.readCurrent(), dataset).includes(snapshotId);
    const isThere = published.listSnapshots(dataset).some(({ id }) => id === snapshotId);
    if (isThere && !isPublished) published.removeSnapshots(dataset, [snapshotId]);
  }
}

function planNow(published: PublishedFiles, dataset: string, { keep, hiding }: Retention): RetentionPlan {
  const found = published.listSnapshots(dataset).map(({ id, hasManifest }) => {
    const manifest = readIfSound(published, { dataset, snapshotId: id });
    return {
      id,
      hasManifest,
      kind: manifest?.kind ?? 'full',
      isOutdated: !hiding.some((wanted) => hidesAll(manifest?.publication ?? showsAll, wanted)),
    };
  });
  return planRetention(found, currentIds(published.readCurrent(), dataset), keep);
}

/** What decided the values of a snapshot. */
type Decided = Pick<Manifest['publication'], 'mask' | 'promote' | 'properties'>;

/** What a snapshot without a manifest may show. */
export const showsAll: Decided = { mask: [], promote: [] };

/** Whether a snapshot hides all that another hides, and hashes under the same key. */
export function hidesAll(found: Decided, wanted: Decided): boolean {
  const isListed = (one: Promotion): boolean => wanted.promote.some((other) => propertyOf(other) === propertyOf(one));
  if (wanted.properties === 'listed' && !(found.properties === 'listed' && found.promote.every(isListed))) return false;
  return wanted.mask.every((mask) =>
    found.mask.some((one) => isDeepStrictEqual(one, mask) || (typeof mask !== 'string' && one === mask.property)),
  );
}
