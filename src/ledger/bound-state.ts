import { sha256 } from '../core/digest.ts';
import { collectPublications, type Publications } from './publications.ts';
import type { LedgerRecord } from './record.ts';
import type { BoundKey, BoundPart } from './vocabulary.ts';

type FenceEntries = Extract<LedgerRecord, { type: 'fencing' }>['fence'];

/** What the disk and the mirror have to be like, by the ledger. Holds digests only. */
export type BoundState = {
  publications: Omit<Publications, 'take'>;
  /** The check values of the keys. */
  keys: ReadonlyMap<BoundKey, string>;
  /** The digest of the entries of each request whose fence stands. */
  fences: ReadonlyMap<string, string>;
  /** The same of fences that were begun and may stand: a kill can leave that open. */
  begunFences: ReadonlyMap<string, string>;
  /** How many differences of each part were found that are not mended yet. */
  differing: ReadonlyMap<BoundPart, number>;
};

/** Collects the bound state from the start of a ledger. */
export function collectBoundState(): { state: BoundState; take: (record: LedgerRecord) => void } {
  const publications = collectPublications();
  const keys = new Map<BoundKey, string>();
  const fences = new Map<string, string>();
  const begunFences = new Map<string, string>();
  const differing = new Map<BoundPart, number>();
  const take = (record: LedgerRecord): void => {
    if (record.type === 'publishing' || record.type === 'published') publications.take(record);
    else if (record.type === 'key_bound') keys.set(record.key, record.check);
    else if (record.type === 'differs') differing.set(record.part, record.items);
    else if (record.type === 'mended') differing.delete(record.part);
    else if (record.type === 'fencing') begunFences.set(record.request, fenceDigest(record.fence));
    else if (record.type === 'readmitted') fences.delete(record.request);
    else if (record.type === 'fenced') {
      const begun = begunFences.get(record.request);
      if (begun !== undefined) fences.set(record.request, begun);
      begunFences.delete(record.request);
    }
  };
  return { state: { publications, keys, fences, begunFences, differing }, take };
}

/** The digest of the entries of a fence, in whatever order they come. */
function fenceDigest(entries: FenceEntries): string {
  return sha256([...new Set(entries.map(({ kind, mac }) => `${kind} ${mac}\n`))].toSorted().join(''));
}
