import { isoTime } from '../../core/clock.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import { spellTarget, type Target } from '../../ledger/target.ts';
import type { AttentionReason, TargetStatus } from '../../ledger/vocabulary.ts';
import { updateRequest } from '../../mirror/erasure-requests.ts';
import { changeTarget, statusOf, type ErasureTarget, type TargetChange } from '../../mirror/erasure-targets.ts';
import { transact } from '../../mirror/transact.ts';
import { record, type StepContext } from './together.ts';

/** A request as the ledger knows it. */
export type RequestRef = { id: string; generation: number };

/** Which target status may follow which: intents before effects, nothing after the end. A new generation restarts. */
const nextStatuses: Readonly<Record<TargetStatus, readonly TargetStatus[]>> = {
  pending: ['intended', 'waiting', 'attention', 'done'],
  intended: ['intended', 'pending', 'waiting', 'attention', 'done'],
  waiting: ['intended', 'waiting', 'attention', 'done'],
  attention: ['pending', 'intended', 'waiting', 'attention', 'done'],
  done: [],
};

/** Whether a target may go from one status to another. */
export function mayBecome(from: TargetStatus, to: TargetStatus): boolean {
  return nextStatuses[from].includes(to);
}

/** Records an intent before its effect. Throws, as other steps do, where the status may not change so. */
export function intend(context: StepContext, requests: readonly RequestRef[], target: Target): void {
  refuseForbidden(context, requests, target, 'intended');
  record(context, { type: 'intent', requests: requests.map(({ id }) => id), target: spellTarget(target) });
}

/** How a target ended, as its record says it. */
type TargetEnd = Omit<Extract<LedgerRecord, { type: 'result' }>, 'type' | 'requests' | 'target'>;

/** Records how a target ended, for each of the requests. */
export function settle(context: StepContext, requests: readonly RequestRef[], target: Target, end: TargetEnd): void {
  refuseForbidden(context, requests, target, 'done');
  const about = { requests: requests.map(({ id }) => id), target: spellTarget(target) };
  record(context, { type: 'result', ...about, ...end });
}

/** Records that an operator has to look at a target. */
export function callAttention(
  context: StepContext,
  request: RequestRef,
  target: Target,
  reason: AttentionReason,
): void {
  const { id, generation } = request;
  refuseForbidden(context, [request], target, 'attention');
  record(context, { type: 'attention', request: id, generation, target: spellTarget(target), reason });
}

/** Records that an operator has to look at a target: once for each reason, however often it is met. */
export function callAttentionOnce(
  context: StepContext,
  request: RequestRef,
  { target, status, reason: before }: Pick<ErasureTarget, 'target' | 'status' | 'reason'>,
  reason: AttentionReason,
): void {
  if (status !== 'attention' || before !== reason) callAttention(context, request, target, reason);
}

/** Notes how far a target is, in the mirror only. */
export function note(
  context: Pick<StepContext, 'db' | 'clock'>,
  request: RequestRef,
  target: Target,
  change: TargetChange,
): void {
  const { db, clock } = context;
  if (change.status !== undefined) refuseForbidden(context, [request], target, change.status);
  transact(db, () => {
    changeTarget(db, request.id, target, change, isoTime(clock.now()));
    updateRequest(db, request.id, {});
  });
}

/** A step that the table of statuses does not allow is a bug: it must have no effect. */
function refuseForbidden(
  { db }: Pick<StepContext, 'db'>,
  requests: readonly RequestRef[],
  target: Target,
  status: TargetStatus,
): void {
  for (const { id } of requests) {
    const from = statusOf(db, id, target);
    if (!mayBecome(from, status)) throw new Error(`a target went from ${from} to ${status}`);
  }
}
