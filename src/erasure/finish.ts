import { isoTime } from '../core/clock.ts';
import { assertNever } from '../core/errors.ts';
import { isAgreed, presentOf } from '../core/present.ts';
import type { JobContext } from '../job/job-context.ts';
import { expireDeletionFeed } from '../mirror/feeds.ts';
import {
  destroyWords,
  findRequest,
  listRequests,
  type ErasureRequest,
  updateRequest,
} from '../mirror/erasure-requests.ts';
import { hasBox } from '../mirror/request-box.ts';
import { listOpenTargets, listTargets } from '../mirror/erasure-targets.ts';
import { purgeOwed } from '../mirror/purge.ts';
import { transact } from '../mirror/transact.ts';
import { expireDeletions } from '../snapshot/rewrite.ts';
import { feedEnd } from './plan.ts';
import { issueCertificate, listedUntil } from './proof/certificate-file.ts';
import { isGivenUp, planLife } from './request/life-plan.ts';
import { callAttention, settle } from './request/target-journal.ts';
import { noteWait } from './request/waits.ts';
import { eachTogether, record } from './request/together.ts';

/**
 * How much came to its end. Of age: `cancelled` before anything was done, `unreached` with something that was not reached or not
 * proved. These persons may still be here, or at the service.
 */
export type FinishResult = {
  certified: number;
  sealed: number;
  cancelled: number;
  unreached: number;
  feedExpired: number;
};

/**
 * Ends what has come to its end. Requests that have reached all their targets are certified, and their identifiers are
 * destroyed. The identifiers of requests that are too old are destroyed, too, however far these requests are, where the service's
 * clock agrees with this machine's. Deletions that have been in the feeds long enough leave them.
 */
export async function finishRequests(context: JobContext): Promise<FinishResult> {
  const { db, published, clock, settings, signal } = context;
  const result: FinishResult = { certified: 0, sealed: 0, cancelled: 0, unreached: 0, feedExpired: 0 };
  const open = listRequests(db, 'open');
  const ends = await eachTogether(context, open, endLongLife);
  const unproved = new Set(open.flatMap(({ id }, index) => (ends[index] === 'unproved' ? id : [])));
  result.cancelled = ends.filter((end) => end === 'cancelled').length;
  result.certified = (await eachTogether(context, open, certify)).filter(Boolean).length;
  const expired = feedEnd(context);
  result.feedExpired = expireDeletionFeed(db, expired);
  const sealing = listRequests(db, 'open').filter(({ id, certifiedAt }) => certifiedAt !== null || unproved.has(id));
  const withWords = sealing.filter(({ waitsFor }) => waitsFor !== 'mirror_is_read');
  transact(db, () => withWords.forEach(({ id }) => destroyWords(db, id)));
  // A reader that holds the old pages only delays this: the purge stays owed, and the next reconciliation tries again.
  // One that this run has waited for already is not waited for again.
  const isHeld = listOpenTargets(db).some(
    ({ reason, requestId }) => reason === 'reader_holds_wal' && hasBox(db, requestId),
  );
  const isPurged = !isHeld && (await purgeOwed(db, clock, signal));
  // A reader that this run met first may end at once.
  const waiting = open.filter(({ id, certifiedAt }) => certifiedAt !== null || unproved.has(id));
  if (!isPurged) transact(db, () => waiting.forEach(({ id }) => noteWait(context, id, 'mirror_is_read')));
  else {
    await eachTogether(context, sealing, (own, { id, generation }) => {
      noteWait(own, id, null);
      record(own, { type: 'sealed', request: id, generation });
    });
    result.sealed = sealing.length;
    // Not before: a run that is killed in between has told nobody.
    const isUnreached = ({ id }: ErasureRequest): boolean => {
      const ended = findRequest(db, id);
      return ended !== undefined && isGivenUp(ended, () => listTargets(db, id), settings.erasure.maxRequestDays);
    };
    result.unreached = sealing.filter((request) => unproved.has(request.id) || isUnreached(request)).length;
  }
  // Last, so that a published file which cannot be read does not keep identifiers from being destroyed.
  await expireDeletions(published, expired, { epoch: context.ledger().epoch(), signal });
  return result;
}

function certify(context: JobContext, request: ErasureRequest): boolean {
  const { db, settings } = context;
  const { id, generation, verifiedAt, certifiedAt, fencedAt } = request;
  if (verifiedAt === null || certifiedAt !== null) return false;
  if (listTargets(db, id).some(({ status }) => status !== 'done')) return false;
  const certificate = issueCertificate(context, { id, generation });
  record(context, { type: 'certified', request: id, generation, certificate });
  if (fencedAt !== null) updateRequest(db, id, { listedUntil: listedUntil(settings.erasure, { at: fencedAt }) });
  return true;
}

/**
 * Ends a request that is too old, as planned. Returns how, where it does without a certificate. Of the others the certificate says
 * what the service has not confirmed.
 */
function endLongLife(context: JobContext, request: ErasureRequest): 'cancelled' | 'unproved' | undefined {
  const { db, ledger, settings } = context;
  const { id, generation } = request;
  const targets = listTargets(db, id);
  const { earliestMs: nowMs, aheadMs } = presentOf(context);
  if (!isAgreed(aheadMs)) return undefined;
  const step = planLife(request, targets, { nowMs, daysMax: settings.erasure.maxRequestDays });
  if (step.do !== 'nothing') updateRequest(db, id, { lifeEndedAt: isoTime(nowMs) });
  switch (step.do) {
    case 'nothing':
      return undefined;
    case 'cancel':
      record(context, { type: 'cancelled', request: id, generation });
      return 'cancelled';
    case 'end':
      for (const { target, result, assurance } of step.settled) {
        callAttention(context, request, target, 'life_exceeded');
        settle(context, [request], target, { result, assurance });
      }
      if (step.isProved) return undefined;
      // Recorded once: where a reader delays the purge, the request comes here again, without its box.
      if (!hasBox(db, id) && ledger().histories.of(id)?.reason === 'life_exceeded') return 'unproved';
      for (const target of step.unproved) callAttention(context, request, target, 'life_exceeded');
      // Only the proof is missing: no target is open that could be in attention.
      if (step.unproved.length === 0)
        record(context, { type: 'attention', request: id, generation, target: 'mirror', reason: 'life_exceeded' });
      return 'unproved';
    default:
      return assertNever(step);
  }
}
