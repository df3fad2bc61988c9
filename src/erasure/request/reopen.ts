import { isoTime } from '../../core/clock.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import type { AttentionReason } from '../../ledger/vocabulary.ts';
import { findRequest } from '../../mirror/erasure-requests.ts';
import { listTargets, restartTarget } from '../../mirror/erasure-targets.ts';
import { updateRequest } from './request-state.ts';

/**
 * Opens a request again, as a generation of its own: what is here has to be found, fenced and erased anew; what the
 * service has answered stays. Call it inside a transaction, and put the record it returns on the ledger in the same one.
 */
export function reopenRequest(
  { db, clock }: Pick<JobContext, 'db' | 'clock'>,
  { id, generation }: { id: string; generation: number },
  reason: AttentionReason,
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

/**
 * Takes a request up again whose person has come back at the service, where that is what calls for attention: somebody
 * asks for the same person once more, so whoever is there now is looked up and deleted anew. Returns whether it was so.
 */
export function takeUpAgain(
  { db, ledger, clock }: Pick<JobContext, 'db' | 'clock' | 'ledger'>,
  id: string,
): boolean {
  const request = findRequest(db, id);
  const isBack = listTargets(db, id).some(
    ({ target, status, reason }) =>
      target === 'upstream.person' && status === 'attention' && reason === 'recreated',
  );
  if (!request || !isBack) return false;
  const at = isoTime(clock.now());
  db.transaction(() => {
    const generation = request.generation + 1;
    const record = reopenRequest({ db, clock }, { id, generation }, 'recreated');
    for (const target of ['upstream.person', 'upstream.events'] as const) restartTarget(db, id, target, at);
    // The service is asked once more who is meant: a new life may have identifiers of its own.
    updateRequest(db, id, { scopedAt: null });
    // Within the transaction: what the ledger cannot take is not done.
    ledger().append([record]);
  }).immediate();
  return true;
}
