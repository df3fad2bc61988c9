import { isoTime, type Clock } from '../core/clock.ts';
import type { Assurance, AttentionReason, LedgerRecord, TargetName, TargetResult } from '../ledger/record.ts';
import type { Database } from '../mirror/database.ts';
import { changeTarget, type TargetChange } from '../mirror/erasure-targets.ts';

/** What advancing a target needs. `append` writes durably, or throws and has written nothing. */
export type StepParts = {
  db: Database;
  ledger: { append: (records: readonly LedgerRecord[]) => void };
  clock: Clock;
};

/** A request as the ledger knows it. */
export type RequestRef = { id: string; generation: number };

/** Says what is about to be done, before it is: on the ledger first, then in the mirror. */
export function intend(parts: StepParts, requests: readonly RequestRef[], target: TargetName): void {
  parts.ledger.append([{ type: 'intent', requests: requests.map(({ id }) => id), target }]);
  changeAll(parts, requests, target, { status: 'intended' });
}

/** Says how a target ended. */
export function settle(
  parts: StepParts,
  requests: readonly RequestRef[],
  target: TargetName,
  end: { result: TargetResult; assurance: Assurance; rowsBefore?: number; rowsRemoved?: number },
): void {
  const { result, assurance, rowsBefore, rowsRemoved } = end;
  parts.ledger.append([
    {
      type: 'result',
      requests: requests.map(({ id }) => id),
      target,
      result,
      assurance,
      ...(rowsBefore === undefined ? {} : { rows_before: rowsBefore }),
      ...(rowsRemoved === undefined ? {} : { rows_removed: rowsRemoved }),
    },
  ]);
  changeAll(parts, requests, target, { status: 'done', result, assurance, reason: null, notBefore: null });
}

/** Says that somebody has to look at a target. Said once for each reason. */
export function callAttention(
  parts: StepParts,
  { id, generation }: RequestRef,
  target: TargetName,
  reason: AttentionReason,
): void {
  parts.ledger.append([{ type: 'attention', request: id, generation, target, reason }]);
  changeAll(parts, [{ id, generation }], target, { status: 'attention', reason });
}

/** Notes how far a target is, in the mirror only. */
export function note(parts: StepParts, request: RequestRef, target: TargetName, change: TargetChange): void {
  changeAll(parts, [request], target, change);
}

function changeAll(
  { db, clock }: StepParts,
  requests: readonly RequestRef[],
  target: TargetName,
  change: TargetChange,
): void {
  const at = isoTime(clock.now());
  db.transaction(() => {
    for (const { id } of requests) changeTarget(db, id, target, change, at);
  }).immediate();
}
