import { isoTime } from '../core/clock.ts';
import type { LedgerRecord } from '../ledger/record.ts';
import { listTargets, restartTarget } from '../mirror/erasure-targets.ts';
import { updateRequest, type ErasureParts } from './erasure-parts.ts';

/**
 * Opens a request again, as a generation of its own: what is here has to be found, fenced and erased anew; what the
 * service has answered stays. Call it inside a transaction, and put the record it returns on the ledger in the same one.
 */
export function reopenRequest(
  { db, clock }: Pick<ErasureParts, 'db' | 'clock'>,
  { id, generation }: { id: string; generation: number },
  reason: Extract<LedgerRecord, { type: 'reopened' }>['reason'],
): LedgerRecord {
  const at = isoTime(clock.now());
  for (const { target } of listTargets(db, id))
    if (target === 'mirror' || target === 'aux') restartTarget(db, id, target, at);
  updateRequest(db, id, {
    generation,
    scopedAt: at,
    // It was approved, if it had to be, when it was fenced the first time.
    approvedAt: at,
    heldAt: null,
    cancelledAt: null,
    fencedAt: null,
    verifiedAt: null,
    certifiedAt: null,
    sealedAt: null,
  });
  return { type: 'reopened', request: id, generation, reason };
}
