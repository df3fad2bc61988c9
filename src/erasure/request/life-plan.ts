import { isUpstream, type Target } from '../../ledger/target.ts';
import type { Assurance, TargetResult } from '../../ledger/vocabulary.ts';
import type { ErasureRequest } from '../../mirror/erasure-requests.ts';
import type { ErasureTarget } from '../../mirror/erasure-targets.ts';

const dayMs = 86_400_000;

/** What is to be done with a request because of its age. */
export type LifeStep =
  | { do: 'nothing' }
  /** Nothing was done for it yet. */
  | { do: 'cancel' }
  /** It ends now. `settled`: not answered by the service. `unproved`: not proved here; then without a certificate. */
  | { do: 'end'; settled: SettledTarget[]; unproved: Target[]; isProved: boolean };

/**
 * When the time of a request is over, in milliseconds since 1970. It counts from the first reconciliation in which the service's
 * clock agreed with this machine's, since the request came or was opened again without identifiers; never over before that.
 */
export function lifeEndsAtMs({ lifeFrom }: Pick<ErasureRequest, 'lifeFrom'>, daysMax: number): number {
  return lifeFrom === null ? Number.POSITIVE_INFINITY : Date.parse(lifeFrom) + daysMax * dayMs;
}

type SettledTarget = { target: Target; result: TargetResult; assurance: Assurance };

/**
 * Decides by age: identifiers are kept for `daysMax` (`lifeEndsAtMs`). A target unproved by then is not called reached. `nowMs`
 * is a time on which both clocks agree.
 */
export function planLife(
  request: Pick<ErasureRequest, 'lifeFrom' | 'generation' | 'fencedAt' | 'verifiedAt' | 'certifiedAt' | 'sealedAt'>,
  targets: readonly Pick<ErasureTarget, 'target' | 'status' | 'seenAt' | 'reason'>[],
  { nowMs, daysMax }: { nowMs: number; daysMax: number },
): LifeStep {
  const { generation, fencedAt, verifiedAt, certifiedAt, sealedAt } = request;
  if (nowMs < lifeEndsAtMs(request, daysMax)) return { do: 'nothing' };
  if (certifiedAt !== null || sealedAt !== null) return { do: 'nothing' };
  // A request that was fenced before, and opened again, cannot be cancelled.
  if (fencedAt === null && generation === 1) return { do: 'cancel' };
  const open = targets.filter(({ status }) => status !== 'done');
  const unproved = open.flatMap(({ target }) => (isUpstream(target) ? [] : [target]));
  return {
    do: 'end',
    // Before its fence, a generation has no results.
    settled: fencedAt === null ? [] : open.filter(({ target }) => isUpstream(target)).map(settledEnd),
    unproved,
    isProved: verifiedAt !== null && unproved.length === 0,
  };
}

/** How targets at the service end by age. */
const lateResults: readonly (TargetResult | null)[] = ['not_queued', 'not_verifiable', 'still_present'];

/**
 * Whether a request has ended by its age, with something that was not done, not proved here, or not answered by the service. An
 * older mirror does not know what ended one that is cancelled: then its age says so.
 */
export function isGivenUp(
  request: Pick<ErasureRequest, 'lifeFrom' | 'lifeEndedAt' | 'cancelledAt' | 'certifiedAt'>,
  targets: () => readonly Pick<ErasureTarget, 'target' | 'result'>[],
  daysMax: number,
): boolean {
  const { lifeEndedAt, cancelledAt, certifiedAt } = request;
  const isOver = cancelledAt !== null && Date.parse(cancelledAt) >= lifeEndsAtMs(request, daysMax);
  if (lifeEndedAt === null) return isOver;
  return (
    certifiedAt === null || targets().some(({ target, result }) => isUpstream(target) && lateResults.includes(result))
  );
}

/** Where the service showed the person when it was last asked, or no deletion of the events, the result says so. */
function settledEnd({ target, seenAt, reason }: Pick<ErasureTarget, 'target' | 'seenAt' | 'reason'>): SettledTarget {
  if (reason === 'events_not_queued') return { target, result: 'not_queued', assurance: 'not_verifiable' };
  return seenAt === null
    ? { target, result: 'not_verifiable', assurance: 'not_verifiable' }
    : { target, result: 'still_present', assurance: 'observed' };
}
