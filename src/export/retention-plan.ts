import type { FoundSnapshot } from '../snapshot/published-files.ts';

/** A snapshot on disk; one whose manifest cannot be read counts as full. */
export type RetainedSnapshot = FoundSnapshot & { kind: 'full' | 'delta' };

/** Which snapshot ids go, oldest first: `abandoned` were never published, `expired` are beyond those to keep. */
export type RetentionPlan = { abandoned: string[]; expired: string[] };

/**
 * Decides which snapshots of a dataset go. Publishing goes upward in id and CURRENT comes last, so a snapshot without
 * a manifest, or above the current one and none of its deltas, was cut off before it was published. `named` is what CURRENT
 * names, the current one first; where it names nothing of the dataset (it was lost), every manifest counts. The current one
 * always stays, and counts among the `keep` newest full ones that do; a delta stays as long as the full one that it goes on
 * from.
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
  const oldestKept = published.filter(isFull).slice(-Math.max(1, keep)).at(0);
  return {
    abandoned: idsOf(ascending.filter((snapshot) => !wasPublished(snapshot))),
    expired: idsOf(published.filter(({ id }) => oldestKept !== undefined && id < oldestKept.id)),
  };
}
