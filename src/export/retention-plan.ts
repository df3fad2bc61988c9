import type { FoundSnapshot } from '../snapshot/published.ts';

/** A snapshot on disk; one whose manifest cannot be read counts as full. */
export type RetainedSnapshot = FoundSnapshot & { kind: 'full' | 'delta' };

/** What CURRENT names of a dataset. */
export type CurrentIds = { id: string; deltas: readonly string[] };

/** Which snapshot ids go, oldest first: `abandoned` were never published, `expired` are beyond those to keep. */
export type RetentionPlan = { abandoned: string[]; expired: string[] };

/**
 * Decides which snapshots of a dataset go. Publishing goes upward in id and CURRENT comes last, so a snapshot without
 * a manifest, or above the current one and none of its deltas, was cut off before it was published. Where CURRENT does not
 * know the dataset (it was lost), every manifest counts. The current one always stays, and counts among the `keep` newest
 * full ones that do; a delta stays as long as the full one that it goes on from.
 */
export function planRetention(
  found: readonly RetainedSnapshot[],
  current: CurrentIds | undefined,
  keep: number,
): RetentionPlan {
  const ascending = found.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const wasPublished = ({ id, hasManifest }: FoundSnapshot): boolean =>
    current === undefined
      ? hasManifest
      : id === current.id || current.deltas.includes(id) || (hasManifest && id < current.id);
  const idsOf = (snapshots: readonly FoundSnapshot[]): string[] => snapshots.map(({ id }) => id);
  const published = ascending.filter(wasPublished);
  const isFull = ({ id, kind }: RetainedSnapshot): boolean => kind === 'full' || id === current?.id;
  const oldestKept = published.filter(isFull).slice(-Math.max(1, keep)).at(0);
  return {
    abandoned: idsOf(ascending.filter((snapshot) => !wasPublished(snapshot))),
    expired: idsOf(published.filter(({ id }) => oldestKept !== undefined && id < oldestKept.id)),
  };
}
