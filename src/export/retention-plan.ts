import type { FoundSnapshot } from '../snapshot/published-files.ts';

/** A snapshot that has files. One whose manifest cannot be read counts as full. `isOutdated`: it shows what must not be. */
export type RetainedSnapshot = FoundSnapshot & { kind: 'full' | 'delta'; isOutdated?: boolean };

/** The ids of the snapshots to remove, oldest first. `abandoned` were never published, `expired` are beyond those to keep. */
export type RetentionPlan = { abandoned: string[]; expired: string[] };

/**
 * Decides which snapshots of a dataset to remove. Each published snapshot has a higher id than the one before it, and CURRENT
 * is written last. So a snapshot was cut off before it was published when it has no manifest, or when its id is above the
 * current one and it is none of the current one's deltas. `named` are the ids that CURRENT names, the current one first; when
 * CURRENT names nothing of the dataset (it was lost), every snapshot with a manifest counts as published. The current snapshot
 * always stays, and is one of the `keep` newest full ones that stay. A delta stays as long as the full snapshot that it
 * continues. What is outdated goes with all that is older, but not the current one.
 */
export function planRetention(
  found: readonly RetainedSnapshot[],
  named: readonly string[],
  keep: number,
): RetentionPlan {
  const ascending = found.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const [currentId] = named;
  const wasPublished = ({ id, hasManifest }: FoundSnapshot): boolean =>
    named.includes(id) || (hasManifest && (currentId === undefined || id < currentId));
  const idsOf = (snapshots: readonly FoundSnapshot[]): string[] => snapshots.map(({ id }) => id);
  const published = ascending.filter(wasPublished);
  const isFull = ({ id, kind }: RetainedSnapshot): boolean => kind === 'full' || id === currentId;
  const fulls = published.filter(isFull);
  const newestOutdated = fulls.slice(0, -1).findLastIndex(({ isOutdated }) => isOutdated === true);
  const oldestKept = fulls.at(Math.max(newestOutdated + 1, fulls.length - Math.max(1, keep)));
  return {
    abandoned: idsOf(ascending.filter((snapshot) => !wasPublished(snapshot))),
    expired: idsOf(published.filter(({ id }) => oldestKept !== undefined && id < oldestKept.id)),
  };
}
