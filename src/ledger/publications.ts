import type { PublishedDataset } from '../contract/datasets.ts';
import type { LedgerRecord } from './record.ts';

/**
 * A snapshot as the ledger has it. `stands`: SHA-256 of its manifest; null before it is published. `intended`: the manifest
 * that is about to stand, null for a snapshot about to go; undefined where nothing is under way.
 */
type Publication = {
  dataset: PublishedDataset;
  snapshotId: string;
  stands: string | null;
  intended: string | null | undefined;
};

type PublicationRecord = Extract<LedgerRecord, { type: 'publishing' | 'published' }>;

/** The published snapshots, as a ledger is read. */
export type Publications = {
  /** Takes the next record about them. */
  take(record: PublicationRecord): void;
  /** Whether the ledger has begun to record publications: before the first erasure, it may have none. */
  isBegun(): boolean;
  of(dataset: string, snapshotId: string): Publication | undefined;
  /** Those that stand or are under way; a snapshot that is gone is not among them. */
  all(): Iterable<Publication>;
};

/** Collects the published snapshots from the start of a ledger. */
export function collectPublications(): Publications {
  const known = new Map<string, Publication>();
  let isBegun = false;
  return {
    take: (record) => {
      isBegun ||= record.type === 'published';
      for (const { dataset, snapshot_id: snapshotId, manifest } of record.snapshots) {
        const name = `${dataset}/${snapshotId}`;
        const before = known.get(name) ?? { dataset, snapshotId, stands: null, intended: undefined };
        if (record.type === 'publishing') known.set(name, { ...before, intended: manifest });
        else if (manifest === null) known.delete(name);
        else known.set(name, { ...before, stands: manifest, intended: undefined });
      }
    },
    isBegun: () => isBegun,
    of: (dataset, snapshotId) => known.get(`${dataset}/${snapshotId}`),
    all: () => known.values(),
  };
}
