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
  const begun = new Map<string, BegunFence>();
  const begunFences: BoundState['begunFences'] = {
    has: (request) => begun.has(request),
    get: (request) => begun.get(request)?.digest(),
  };
  const differing = new Map<BoundPart, number>();
  const take = (record: LedgerRecord): void => {
    if (record.type === 'publishing' || record.type === 'published') publications.take(record);
    else if (record.type === 'key_bound') keys.set(record.key, record.check);
    else if (record.type === 'differs') differing.set(record.part, record.items);
    else if (record.type === 'mended') differing.delete(record.part);
    else if (record.type === 'fencing') {
      const isEncrypted = record.fence.every((entry) => 'encrypted' in entry);
      const fence = (record.continued ? begun.get(record.request) : undefined) ?? beginFence(isEncrypted);
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
type BegunFence = { take: (entries: FenceEntries) => void; digest: () => FenceDigest };

/**
 * Collects a fence's entries until it stands, for their digest in byte order of the MACs, in which encrypted ones are written.
 * One person can have a million: they are hashed as they come. Others are also kept, in the room of their bytes, in case that
 * one comes out of order.
 */
function beginFence(isEncrypted: boolean): BegunFence {
  const hash = createHash('sha256');
  const kept: Buffer[] = [];
  let last = '';
  let isInOrder = true;
  return {
    take: (entries) => {
      const lines = entries.map(lineOf);
      const fresh = lines.filter((line, index) => line !== (lines[index - 1] ?? last));
      if (!isEncrypted) {
        isInOrder &&= fresh.every((line, index) => line > (fresh[index - 1] ?? last));
        kept.push(Buffer.concat(entries.map(packed)));
      }
      last = lines.at(-1) ?? last;
      hash.update(fresh.join(''));
    },
    digest: () => ({ digest: isInOrder ? hash.copy().digest('hex') : digestInOrder(Buffer.concat(kept)), isEncrypted }),
  };
}

function lineOf(entry: FenceEntries[number]): string {
  return `${entry.kind} ${'encrypted' in entry ? entry.encrypted : entry.mac}\n`;
}

const entryBytes = 33;

/** The kind's place in byte order of the kinds, and the MAC. */
function packed(entry: FenceEntries[number]): Buffer {
  const mac = Buffer.from('encrypted' in entry ? entry.encrypted : entry.mac, 'hex');
  return Buffer.concat([Buffer.from([kindsInOrder.indexOf(entry.kind)]), mac], entryBytes);
}

function digestInOrder(all: Buffer): string {
  const lines = new Set<string>();
  for (let at = 0; at < all.length; at += entryBytes)
    lines.add(`${kindsInOrder[all[at] ?? 0]} ${all.subarray(at + 1, at + entryBytes).toString('hex')}\n`);
  return createHash('sha256')
    .update([...lines].toSorted().join(''))
    .digest('hex');
}
