import { isoTime, type Clock } from '../../core/clock.ts';
import { spellTarget, type Target } from '../../ledger/target.ts';
import type { Assurance, AttentionReason, TargetResult } from '../../ledger/vocabulary.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import type { Database } from '../../mirror/database.ts';
import { changeTarget, statusOf, type TargetChange } from '../../mirror/erasure-targets.ts';
import { mayBecome } from './request-state.ts';

/** What advancing a target needs. `append` writes durably, or throws and has written nothing. */
export type StepParts = {
  db: Database;
  ledger: { append: (records: readonly LedgerRecord[]) => void };
  clock: Clock;
};

/** A request as the ledger knows it. */
export type RequestRef = { id: string; generation: number };

/**
 * Says what is about to be done, before it is: on the ledger first, then in the mirror. This and the other steps throw,
 * before anything is said, where a target may not go that way.
 */
export function intend(parts: StepParts, requests: readonly RequestRef[], target: Target): void {
  const change = { status: 'intended' } as const;
  refuseForbidden(parts, requests, target, change);
  parts.ledger.append([
    { type: 'intent', requests: requests.map(({ id }) => id), target: spellTarget(target) },
  ]);
  changeAll(parts, requests, target, change);
}

/** Says how a target ended. */
export function settle(
  parts: StepParts,
  requests: readonly RequestRef[],
  target: Target,
  end: { result: TargetResult; assurance: Assurance; rowsBefore?: number; rowsRemoved?: number },
): void {
  const { result, assurance, rowsBefore, rowsRemoved } = end;
  const change = { status: 'done', result, assurance, reason: null, notBefore: null } as const;
  refuseForbidden(parts, requests, target, change);
  parts.ledger.append([
    {
      type: 'result',
      requests: requests.map(({ id }) => id),
      target: spellTarget(target),
      result,
      assurance,
      ...(rowsBefore === undefined ? {} : { rows_before: rowsBefore }),
      ...(rowsRemoved === undefined ? {} : { rows_removed: rowsRemoved }),
    },
  ]);
  changeAll(parts, requests, target, change);
}

/** Says that somebody has to look at a target. */
export function callAttention(
  parts: StepParts,
  request: RequestRef,
  target: Target,
  reason: AttentionReason,
): void {
  const { id, generation } = request;
  const change = { status: 'attention', reason } as const;
  refuseForbidden(parts, [request], target, change);
  parts.ledger.append([{ type: 'attention', request: id, generation, target: spellTarget(target), reason }]);
  changeAll(parts, [request], target, change);
}

/** Notes how far a target is, in the mirror only. */
export function note(parts: StepParts, request: RequestRef, target: Target, change: TargetChange): void {
  refuseForbidden(parts, [request], target, change);
  changeAll(parts, [request], target, change);
}

/** A step that the table of statuses does not know is a fault of ours: nothing may come of it. */
function refuseForbidden(
  { db }: StepParts,
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
  { db, clock }: StepParts,
  requests: readonly RequestRef[],
  target: Target,
  change: TargetChange,
): void {
  const at = isoTime(clock.now());
  db.transaction(() => {
    for (const { id } of requests) changeTarget(db, id, target, change, at);
  }).immediate();
}
