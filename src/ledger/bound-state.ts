import { createHash } from 'node:crypto';
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
  begunFences: Pick<ReadonlyMap<string, string>, 'get'>;
  /** How many differences of each part were found that are not mended yet. */
  differing: ReadonlyMap<BoundPart, number>;
};

/** Collects the bound state from the start of a ledger. */
export function collectBoundState(): { state: BoundState; take: (record: LedgerRecord) => void } {
  const publications = collectPublications();
  const keys = new Map<BoundKey, string>();
  const fences = new Map<string, string>();
  const begun = new Map<string, BegunFence>();
  const begunFences = { get: (request: string) => begun.get(request)?.digest() };
  const differing = new Map<BoundPart, number>();
  const take = (record: LedgerRecord): void => {
    if (record.type === 'publishing' || record.type === 'published') publications.take(record);
    else if (record.type === 'key_bound') keys.set(record.key, record.check);
    else if (record.type === 'differs') differing.set(record.part, record.items);
    else if (record.type === 'mended') differing.delete(record.part);
    else if (record.type === 'fencing') {
      const fence = (record.continued ? begun.get(record.request) : undefined) ?? beginFence();
      fence.take(record.fence);
      begun.set(record.request, fence);
    } else if (record.type === 'readmitted') fences.delete(record.request);
    else if (record.type === 'fenced') {
      const fence = begunFences.get(record.request);
      if (fence) fences.set(record.request, fence);
      begun.delete(record.request);
    }
  };
  return { state: { publications, keys, fences, begunFences, differing }, take };
}

/** The entries of a fence that was begun. */
type BegunFence = { take: (entries: FenceEntries) => void; digest: () => string };

/**
 * Collects a fence's entries until it stands, for their digest. They come in byte order of their MACs, as the mirror has them. One
 * person can have a million: they are hashed as they come.
 */
function beginFence(): BegunFence {
  const hash = createHash('sha256');
  let last = '';
  return {
    take: (entries) => {
      const lines = entries.map(({ kind, encrypted }) => `${kind} ${encrypted}\n`);
      hash.update(lines.filter((line, index) => line !== (lines[index - 1] ?? last)).join(''));
      last = lines.at(-1) ?? last;
    },
    digest: () => hash.copy().digest('hex'),
  };
}
