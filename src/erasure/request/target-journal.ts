import { isoTime } from '../../core/clock.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { spellTarget, type Target } from '../../ledger/target.ts';
import type { Assurance, AttentionReason, TargetResult, TargetStatus } from '../../ledger/vocabulary.ts';
import { changeTarget, statusOf, type ErasureTarget, type TargetChange } from '../../mirror/erasure-targets.ts';

/** What the steps of a target need of a job's context. `append` writes durably, or throws and has written nothing. */
export type JournalContext = Pick<JobContext, 'db' | 'clock'> & { ledger: () => Pick<Ledger, 'append'> };

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

/** Records an intent before its effect: ledger first. Throws, as other steps do, where the status may not change so. */
export function intend(context: JournalContext, requests: readonly RequestRef[], target: Target): void {
  const change = { status: 'intended' } as const;
  refuseForbidden(context, requests, target, change);
  context.ledger().append([{ type: 'intent', requests: requests.map(({ id }) => id), target: spellTarget(target) }]);
  changeAll(context, requests, target, change);
}

/** Records how a target ended. */
export function settle(
  context: JournalContext,
  requests: readonly RequestRef[],
  target: Target,
  end: {
    result: TargetResult;
    assurance: Assurance;
    rowsBefore?: number;
    /** Of each of the requests. */
    rowsRemoved?: number;
    /** When a lock ends. */
    until?: string;
    /** The machines that had copies. */
    machines?: string[];
  },
): void {
  const { result, assurance, rowsBefore, rowsRemoved, until, machines } = end;
  const change = { status: 'done', result, assurance, reason: null, notBefore: null } as const;
  refuseForbidden(context, requests, target, change);
  context
    .ledger()
    .append([
      {
        type: 'result',
        requests: requests.map(({ id }) => id),
        target: spellTarget(target),
        result,
        assurance,
        ...(rowsBefore === undefined ? {} : { rows_before: rowsBefore }),
        ...(rowsRemoved === undefined ? {} : { rows_removed: rowsRemoved }),
        ...(until === undefined ? {} : { until }),
        ...(machines === undefined ? {} : { machines }),
      },
    ]);
  changeAll(context, requests, target, change);
}

/** Records that an operator has to look at a target. */
export function callAttention(
  context: JournalContext,
  request: RequestRef,
  target: Target,
  reason: AttentionReason,
): void {
  const { id, generation } = request;
  const change = { status: 'attention', reason } as const;
  refuseForbidden(context, [request], target, change);
  context.ledger().append([{ type: 'attention', request: id, generation, target: spellTarget(target), reason }]);
  changeAll(context, [request], target, change);
}

/** Records that an operator has to look at a target: once for each reason, however often it is met. */
export function callAttentionOnce(
  context: JournalContext,
  request: RequestRef,
  { target, status, reason: before }: Pick<ErasureTarget, 'target' | 'status' | 'reason'>,
  reason: AttentionReason,
): void {
  if (status !== 'attention' || before !== reason) callAttention(context, request, target, reason);
}

/** Notes how far a target is, in the mirror only. */
export function note(context: JournalContext, request: RequestRef, target: Target, change: TargetChange): void {
  refuseForbidden(context, [request], target, change);
  changeAll(context, [request], target, change);
}

/** A step that the table of statuses does not allow is a bug: it must have no effect. */
function refuseForbidden(
  { db }: JournalContext,
  requests: readonly RequestRef[],
  target: Target,
  { status }: TargetChange,
): void {
  if (status === undefined) return;
  for (const { id } of requests) {
    const from = statusOf(db, id, target);
    if (!mayBecome(from, status)) throw new Error(`a target went from ${from} to ${status}`);
  }
}

function changeAll(
  { db, clock }: JournalContext,
  requests: readonly RequestRef[],
  target: Target,
  change: TargetChange,
): void {
  const at = isoTime(clock.now());
  db.transaction(() => {
    for (const { id } of requests) changeTarget(db, id, target, change, at);
  }).immediate();
}
