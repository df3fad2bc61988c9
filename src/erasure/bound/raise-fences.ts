import type { LedgerReader } from '../../ledger/ledger.ts';
import type { Database } from '../../mirror/database.ts';
import { addFence, fenceDigests, liftFence, type FenceEntry } from '../../mirror/fence.ts';

/** A fence that stands, as the ledger has it. */
type StandingFence = { id: string; epoch: number; at: string; entries: readonly FenceEntry[] };

/** Makes the fence as the ledger has it. What was begun and may stand stays. The ledger is read: it keeps no MACs in memory. */
export function raiseFencesAgain(db: Database, ledger: LedgerReader): void {
  const { fences, begunFences } = ledger.bound;
  const begun = new Map<string, StandingFence>();
  const standing = new Map<string, StandingFence>();
  for (const entry of ledger.entries()) {
    if (entry.type === 'fencing') {
      const before = entry.continued ? begun.get(entry.request)?.entries : undefined;
      const { request: id, epoch, at, fence } = entry;
      begun.set(id, { id, epoch, at, entries: [...(before ?? []), ...fence] });
    }
    const fence = entry.type === 'fenced' ? begun.get(entry.request) : undefined;
    if (fence) standing.set(fence.id, fence);
  }
  const digests = fenceDigests(db);
  for (const id of new Set([...digests.keys(), ...fences.keys()])) {
    const digest = digests.get(id);
    if (digest === fences.get(id) || (digest !== undefined && digest === begunFences.get(id))) continue;
    liftFence(db, id);
    const fence = fences.has(id) ? standing.get(id) : undefined;
    if (fence) addFence(db, fence, fence.entries);
  }
}
