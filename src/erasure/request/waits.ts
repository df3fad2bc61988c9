import { isoTime } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { WaitReason } from '../../ledger/vocabulary.ts';
import { findRequest, updateRequest, type ErasureRequest } from '../../mirror/erasure-requests.ts';

/** Why a request waits after a call to the service has failed with this error. */
export function waitReasonOf(error: unknown): WaitReason {
  const code = error instanceof AppError ? error.code : 'unreachable';
  if (code === 'unreachable' || code === 'interrupted') return 'service_unreachable';
  if (code === 'refused') return 'service_refuses_key';
  return code === 'rejected' ? 'service_rejects' : 'service_unusable';
}

/** Whether the service failed at this request alone, so that others are asked for first. */
export function hasFailedAlone({ waitsFor }: Pick<ErasureRequest, 'waitsFor'>): boolean {
  return waitsFor === 'service_unusable' || waitsFor === 'service_rejects';
}

/** Notes why a request cannot go on by itself; null where it can. It keeps since when, as long as the reason is the same. */
export function noteWait(
  { db, clock }: Pick<JobContext, 'db' | 'clock'>,
  id: string,
  waitsFor: WaitReason | null,
): void {
  const request = findRequest(db, id);
  if (!request || request.waitsFor === waitsFor) return;
  updateRequest(db, id, { waitsFor, waitsSince: waitsFor === null ? null : isoTime(clock.now()) });
}
