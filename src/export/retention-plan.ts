import type { FoundSnapshot } from '../snapshot/published.ts';

/** Which snapshot ids go, oldest first: `abandoned` were never published, `expired` are beyond those to keep. */
export type RetentionPlan = { abandoned: string[]; expired: string[] };

/**
 * Decides which snapshots of a dataset go. Publishing goes upward in id and CURRENT comes last, so a snapshot without
 * a manifest, or above the current one, was cut off before it was published. Where CURRENT does not know the dataset (it
 * was lost), every manifest counts. The current one always stays, and counts among the `keep` newest that do.
 */
export function planRetention(
  found: readonly FoundSnapshot[],
  currentId: string | undefined,
  keep: number,
): RetentionPlan {
  const ascending = found.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const wasPublished = ({ id, hasManifest }: FoundSnapshot): boolean =>
    id === currentId || (hasManifest && (currentId === undefined || id < currentId));
  const idsOf = (snapshots: readonly FoundSnapshot[]): string[] => snapshots.map(({ id }) => id);
  const published = ascending.filter(wasPublished);
  return {
    abandoned: idsOf(ascending.filter((snapshot) => !wasPublished(snapshot))),
    expired: idsOf(published.slice(0, -Math.max(1, keep))),
  };
}
