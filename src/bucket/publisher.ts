import { ledgerOrigin, readLedgerOrigin } from '../ledger/checkpoint.ts';
import { readLedger, type Ledger } from '../ledger/ledger.ts';

/** Who publishes to a bucket: the name of its ledger, and its heads after each publication (root hashes by size). */
export type Publisher = { name: string; heads: ReadonlyMap<number, string> };

/** The publisher that a run is. Signs the ledger's first checkpoint where there is none yet. */
export function publisherOf(dataDir: string, ledger: Pick<Ledger, 'checkpoint' | 'publishedHeads'>): Publisher {
  return { name: ledgerOrigin(dataDir, ledger), heads: ledger.publishedHeads };
}

/** The publisher of a data folder, which is only read. Throws `storage` where its ledger is damaged. */
export function publisherIn(dataDir: string): Publisher {
  return { name: readLedgerOrigin(dataDir) ?? '', heads: readLedger(dataDir).publishedHeads };
}

/** What the pointer in a bucket carries: the name of the ledger, and its size and root hash after its last publication. */
export function spellPublisher({ name, heads }: Publisher): string {
  return [name, ...([...heads].at(-1) ?? [])].join(' ');
}

/**
 * Whose a pointer is, by what it carries; null where it carries nothing. `ahead`: of this ledger, but it was put after a
 * publication that this ledger does not have, so that an older copy of the data folder was put back.
 */
export function judgePointer({ name, heads }: Publisher, carried: string | null): 'own' | 'another' | 'ahead' {
  if (carried === null) return 'own';
  const [other, size, root] = carried.split(' ');
  if (other !== name) return 'another';
  // Before its first publication, a ledger has no head.
  return size === undefined || heads.get(Number(size)) === root ? 'own' : 'ahead';
}
