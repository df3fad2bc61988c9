import { createHash } from 'node:crypto';
import { identifierKinds } from '../contract/identity.ts';
import { collectPublications, type Publications } from './publications.ts';
import type { LedgerRecord } from './record.ts';
import type { BoundKey, BoundPart } from './vocabulary.ts';

type FenceEntries = Extract<LedgerRecord, { type: 'fencing' }>['fence'];

const kindsInOrder = identifierKinds.toSorted();

/** A fence, by its digest. `isEncrypted`: of its MACs under the restore key. */
export type FenceDigest = { digest: string; isEncrypted: boolean };

/** What the disk and the mirror have to be like, by the ledger. Holds digests only. */
export type BoundState = {
  publications: Omit<Publications, 'take'>;
  /** The check values of the keys. */
  keys: ReadonlyMap<BoundKey, string>;
  /** The digest of the entries of each request whose fence stands. */
  fences: ReadonlyMap<string, FenceDigest>;
  /** The same of fences that were begun and may stand: a kill can leave that open. */
  begunFences: Pick<ReadonlyMap<string, FenceDigest>, 'has' | 'get'>;
  /** How many differences of each part were found that are not mended yet. */
  differing: ReadonlyMap<BoundPart, number>;
};

/** Collects the bound state from the start of a ledger. */
export function collectBoundState(): { state: BoundState; take: (record: LedgerRecord) => void } {
  const publications = collectPublications();
  const keys = new Map<BoundKey, string>();
  const fences = new Map<string, FenceDigest>();
  // Only these entries are kept, and only until the fence stands: one person can have a million.
  const begun = new Map<string, { entries: string[]; isEncrypted: boolean }>();
  const begunFences: BoundState['begunFences'] = {
    has: (request) => begun.has(request),
    get: (request) => {
      const fence = begun.get(request);
      return fence && { digest: fenceDigest(fence), isEncrypted: fence.isEncrypted };
    },
  };
  const differing = new Map<BoundPart, number>();
  const take = (record: LedgerRecord): void => {
    if (record.type === 'publishing' || record.type === 'published') publications.take(record);
    else if (record.type === 'key_bound') keys.set(record.key, record.check);
    else if (record.type === 'differs') differing.set(record.part, record.items);
    else if (record.type === 'mended') differing.delete(record.part);
    else if (record.type === 'fencing') {
      const isEncrypted = record.fence.every((entry) => 'encrypted' in entry);
      const fence = (record.continued ? begun.get(record.request) : undefined) ?? { entries: [], isEncrypted };
      for (const entry of record.fence) fence.entries.push(compact(entry));
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

/** An entry in half of its room: the kind's letter in byte order of the kinds, and the MAC's bytes. */
function compact(entry: FenceEntries[number]): string {
  const hex = 'encrypted' in entry ? entry.encrypted : entry.mac;
  return `${kindsInOrder.indexOf(entry.kind)}${Buffer.from(hex, 'hex').toString('latin1')}`;
}

/** The digest of the entries of a fence in byte order of the MACs, in which encrypted ones were written. */
function fenceDigest({ entries, isEncrypted }: { entries: readonly string[]; isEncrypted: boolean }): string {
  const hash = createHash('sha256');
  let before = '';
  for (const entry of isEncrypted ? entries : entries.toSorted()) {
    if (entry !== before)
      hash.update(`${kindsInOrder[Number(entry[0])]} ${Buffer.from(entry.slice(1), 'latin1').toString('hex')}\n`);
    before = entry;
  }
  return hash.digest('hex');
}
