import { clockDifferenceMs } from '../bucket/store.ts';
import { lastEnd } from '../bucket/follow-plan.ts';
import { keepBuckets, type BucketReport } from '../bucket/keep.ts';
import { isoTime } from '../core/clock.ts';
import type { AppError } from '../core/errors.ts';
import type { JobContext } from '../job/job-context.ts';
import type { ElsewhereTarget } from '../ledger/target.ts';
import type { AttentionReason } from '../ledger/vocabulary.ts';
import { listRequests, type ErasureRequest } from '../mirror/erasure-requests.ts';
import { listTargets, type ErasureTarget } from '../mirror/erasure-targets.ts';
import { callAttentionOnce, intend, note, settle } from './request/target-journal.ts';
import { eachTogether, together } from './request/together.ts';

/** An open request that is proved gone from here, and its target elsewhere. */
type AtTarget = { request: ErasureRequest; target: ErasureTarget };

/**
 * Lets the bucket forget those who are proved gone from here: it is made equal to the folder, so that no version of an object
 * and no upload is left that the scan has not seen as a file. Where it cannot, the requests stay open and call for attention.
 * What a lock keeps beyond the day on which a request is due is certified as locked. Returns null where nothing was to be done.
 */
export async function eraseBucket(context: JobContext): Promise<BucketReport | null> {
  const ready = beginAt(context, 'bucket');
  if (ready.length === 0) return null;
  const report = await keepBuckets(context, { asksAnew: true });
  await eachTogether(context, ready, (own, each) => conclude(own, each, report));
  return report;
}

/** The open requests that are proved gone from here, and not from that place. The ledger has the intent for each. */
export function beginAt(context: JobContext, name: ElsewhereTarget): AtTarget[] {
  const { db } = context;
  const ready = listRequests(db, 'open')
    .filter(({ verifiedAt, certifiedAt }) => verifiedAt !== null && certifiedAt === null)
    .flatMap((request) =>
      listTargets(db, request.id)
        .filter(({ target, status }) => target === name && status !== 'done')
        .map((target) => ({ request, target })),
    );
  const begun = ready.filter(({ target }) => target.status === 'pending').map(({ request }) => request);
  if (begun.length > 0) together(context, (own) => intend(own, begun, name));
  return ready;
}

function conclude(context: JobContext, { request, target }: AtTarget, report: BucketReport | null): void {
  if (report?.error) return callAttentionOnce(context, request, target, reasonOf(report.error));
  // What was put later was made of a folder without the person.
  const cleanAt = isoTime(Date.parse(request.verifiedAt ?? '') + clockDifferenceMs);
  // A time that is still to come is from a clock that was wrong, and tells nothing.
  const soon = isoTime(context.clock.now() + clockDifferenceMs);
  const locked = (report?.followed?.locked ?? []).filter(({ putAt }) => putAt <= cleanAt || putAt > soon);
  if (locked.length === 0) return settle(context, [request], 'bucket', { result: 'absent', assurance: 'observed' });
  const until = lastEnd(locked);
  if (until !== null && until <= request.dueAt) {
    callAttentionOnce(context, request, target, 'bucket_locked');
    return note(context, request, 'bucket', { notBefore: until });
  }
  const lockedUntil = until === null ? {} : { until };
  settle(context, [request], 'bucket', { result: 'locked', assurance: 'observed', ...lockedUntil });
}

/** Why a bucket could not be written, as the ledger has it. */
export function reasonOf({ retryable, code }: AppError): AttentionReason {
  return retryable || code === 'unreachable' || code === 'busy' ? 'bucket_unreachable' : 'bucket_refuses';
}
