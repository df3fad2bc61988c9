import { isoTime } from '../../core/clock.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import type { AttentionReason } from '../../ledger/vocabulary.ts';
import { findRequest } from '../../mirror/erasure-requests.ts';
import { listTargets, restartTarget } from '../../mirror/erasure-targets.ts';
import { updateRequest } from './request-state.ts';

/**
 * Opens a request again, as its next generation: the subject has to be found, fenced and erased here once more. What the
 * service has answered stays. Call it inside a transaction, and append the record that it returns in the same transaction.
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
 * Opens a request again that is in attention because its person has come back at the service: the same person is requested
 * once more, so the person who is there now is looked up and deleted. Returns whether the request was such a one.
 */
export function reopenIfRecreated(
  { db, ledger, clock }: Pick<JobContext, 'db' | 'clock' | 'ledger'>,
  id: string,
): boolean {
  const request = findRequest(db, id);
  const isBack = listTargets(db, id).some(
    ({ target, status, reason }) => target === 'upstream.person' && status === 'attention' && reason === 'recreated',
  );
  if (!request || !isBack) return false;
  const at = isoTime(clock.now());
  db.transaction(() => {
    const generation = request.generation + 1;
    const record = reopenRequest({ db, clock }, { id, generation }, 'recreated');
    for (const target of ['upstream.person', 'upstream.events'] as const) restartTarget(db, id, target, at);
    // The service is asked for the person once more: the new one may have other identifiers.
    updateRequest(db, id, { scopedAt: null });
    // Within the transaction: if the ledger cannot be written, nothing is done.
    ledger().append([record]);
  }).immediate();
  return true;
}
