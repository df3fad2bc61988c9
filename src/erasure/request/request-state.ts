import { isUpstream } from '../../ledger/target.ts';
import type { Database } from '../../mirror/database.ts';
import {
  changeRequest,
  findRequest,
  listRequests,
  type ErasureRequest,
  type RequestChange,
} from '../../mirror/erasure-requests.ts';
import { basisCode, type RequestReason, type RequestState, type TargetStatus } from '../../ledger/vocabulary.ts';
import { listTargets, type ErasureTarget } from '../../mirror/erasure-targets.ts';

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

/** What a request's state depends on, beside its targets. */
export type RequestFacts = Pick<
  ErasureRequest,
  | 'scopedAt'
  | 'heldAt'
  | 'approvedAt'
  | 'refusedAt'
  | 'cancelledAt'
  | 'fencedAt'
  | 'verifiedAt'
  | 'certifiedAt'
  | 'sealedAt'
>;

/** The state of a request, from its facts and targets alone. Attention comes first: an operator has to look. */
export function requestState(
  facts: RequestFacts,
  targets: readonly Pick<ErasureTarget, 'target' | 'status'>[],
): RequestState {
  if (facts.cancelledAt !== null) return 'cancelled';
  if (facts.refusedAt !== null) return 'refused';
  if (facts.sealedAt !== null) return 'sealed';
  if (facts.fencedAt === null) {
    if (facts.heldAt !== null && facts.approvedAt === null) return 'held';
    return facts.scopedAt === null ? 'received' : 'scoped';
  }
  if (targets.some(({ status }) => status === 'attention')) return 'attention';
  if (facts.certifiedAt !== null) return 'certified';
  const local = targets.filter(({ target }) => !isUpstream(target));
  if (local.every(({ status }) => status === 'pending')) return 'fenced';
  if (facts.verifiedAt === null || local.some(({ status }) => status !== 'done')) return 'executing';
  const open = targets.filter(({ status }) => status !== 'done');
  const deletesLater: readonly unknown[] = ['upstream.events', 'upstream.recordings'];
  const onlyWaits =
    open.length > 0 && open.every(({ target, status }) => deletesLater.includes(target) && status === 'waiting');
  return onlyWaits ? 'awaiting_upstream' : 'locally_verified';
}

/** Why a request is in its state: what it waits for, why it was refused, or why it ended without a certificate. */
export function requestReason(
  { reason, certifiedAt }: Pick<ErasureRequest, 'reason' | 'certifiedAt'>,
  state: RequestState,
  targets: readonly Pick<ErasureTarget, 'status' | 'reason'>[],
): RequestReason | null {
  if (state === 'attention') return targets.find(({ status }) => status === 'attention')?.reason ?? null;
  if (state === 'held' || state === 'refused') return reason;
  // Only its age lets a request end so.
  return state === 'sealed' && certifiedAt === null ? 'life_exceeded' : null;
}

/** Changes a request, and brings its state in line with its facts and targets, in one transaction. */
export function updateRequest(db: Database, id: string, change: RequestChange): void {
  db.transaction(() => {
    changeRequest(db, id, change);
    const request = findRequest(db, id);
    if (!request) throw new Error('a request that is not there');
    const targets = listTargets(db, id);
    const state = requestState(request, targets);
    const reason = requestReason(request, state, targets);
    if (state !== request.state || reason !== request.reason) changeRequest(db, id, { state, reason });
  }).immediate();
}

/** What is destroyed when a request ends: its box, and the operator's own words. */
export function withoutWords({ basis }: Pick<ErasureRequest, 'basis'>): RequestChange {
  return { box: null, authorisedBy: null, basis: basisCode(basis) };
}

/** Brings the states of all open requests in line with their facts and targets. */
export function alignStates(db: Database): void {
  const align = db.transaction(() => {
    for (const { id } of listRequests(db, 'open')) updateRequest(db, id, {});
  });
  align.immediate();
}
