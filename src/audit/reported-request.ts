import { acknowledgementsOf, type Acknowledgement } from '../erasure/acknowledge.ts';
import { fixedTargets, type TargetName } from '../ledger/target.ts';
import { isLate, type RequestHistory } from '../ledger/request-history.ts';
import {
  evidenceOf,
  evidences,
  type Evidence,
  type Origin,
  type RequestState,
  type TargetResult,
  type TargetStatus,
} from '../ledger/vocabulary.ts';
import type { Database } from '../mirror/database.ts';
import { isOverdue } from '../mirror/erasure-requests.ts';
import { readFenceUse, type FenceUse } from '../mirror/fence.ts';

/** A target of a request: its result, or its status while it is open. */
export type ReportedTarget = {
  target: TargetName;
  status: TargetStatus;
  result: TargetResult | null;
  /** Null while it is open. */
  evidence: Evidence | null;
  /** Its own, and no other request's. */
  rowsRemoved: number | null;
  endedAt: string | null;
};

/** A request in the report: codes, times and numbers only. Times are ISO 8601 UTC. */
export type ReportedRequest = {
  request: string;
  generation: number;
  origin: Origin;
  basis: string;
  state: RequestState;
  /** Why it is held, refused or in attention. */
  reason: string | null;
  receivedAt: string;
  dueAt: string;
  fencedAt: string | null;
  verifiedAt: string | null;
  completedAt: string | null;
  endedAt: string | null;
  sealedAt: string | null;
  eventsExpectedBy: string | null;
  /** Milliseconds from receipt until the person was proved gone from here, and until every target was reached. */
  hereMs: number | null;
  completeMs: number | null;
  /** Late: completed for the first time, or cancelled, after it was due. Overdue: not completed, and due before now or received later than now. */
  isLate: boolean;
  isOverdue: boolean;
  /** Null while a target is open, and where there is none. */
  weakestEvidence: Evidence | null;
  targets: ReportedTarget[];
  fence: FenceUse;
  /** The consumers of published files: since when it is recorded that each says it has deleted too; null: it is not. */
  acknowledgements: Acknowledgement[];
  /** SHA-256 of its newest certificate. */
  certificate: string | null;
};

/** The present state of a request, by the ledger alone. `db`: how often its fence was used, which no ledger tells. */
export function reportRequest(
  db: Database,
  history: RequestHistory,
  { madeAt, consumers }: { madeAt: string; consumers: readonly string[] },
): ReportedRequest {
  const { request, generation, dueAt, received, certified } = history;
  const issued = certified.find((each) => each.generation === generation);
  const completedAt = issued?.reachedAt ?? null;
  const isDone = completedAt !== null || history.endedAt !== null;
  const open = isDone || history.fence === null ? [] : openTargets(history);
  const openNames = new Set(open.map(({ target }) => target));
  const ended = [...history.targets.values()]
    .filter(({ target }) => !openNames.has(target))
    .map((end): ReportedTarget => {
      const { target, result, rowsRemoved, endedAt } = end;
      return { target, status: 'done', result, evidence: evidenceOf(end), rowsRemoved, endedAt };
    });
  const targets = [...ended, ...open].toSorted(
    (a, b) => strength(a.evidence) - strength(b.evidence) || (a.target < b.target ? -1 : 1),
  );
  const verifiedAt = history.verified?.at ?? null;
  const since = (at: string | null): number | null => (at === null ? null : Date.parse(at) - Date.parse(received.at));
  return {
    request,
    generation,
    origin: history.origin,
    basis: history.basis,
    state: history.state,
    reason: history.reason,
    receivedAt: received.at,
    dueAt,
    fencedAt: history.fence?.at ?? null,
    verifiedAt,
    completedAt,
    endedAt: history.endedAt,
    sealedAt: history.sealed?.at ?? null,
    eventsExpectedBy: history.eventsExpectedBy,
    hereMs: since(verifiedAt),
    completeMs: since(completedAt),
    isLate: isLate(history),
    isOverdue: !isDone && isOverdue({ receivedAt: received.at, dueAt }, madeAt),
    weakestEvidence: targets[0]?.evidence ?? null,
    targets,
    fence: readFenceUse(db, request),
    acknowledgements: acknowledgementsOf(history, consumers),
    certificate: issued?.sha256 ?? null,
  };
}

/** The targets whose end the ledger does not have yet. Published files are known once their rewriting begins. */
function openTargets({ targets, intended, attention }: RequestHistory): ReportedTarget[] {
  const names = new Set<TargetName>([...fixedTargets.filter((target) => !targets.has(target)), ...intended]);
  return [...new Set([...names, ...attention.keys()])].map((target) => ({
    target,
    status: attention.has(target) ? 'attention' : intended.includes(target) ? 'intended' : 'pending',
    result: null,
    evidence: null,
    rowsRemoved: null,
    endedAt: null,
  }));
}

/** Whether a request is still open. */
export function isOpen({ completedAt, endedAt }: ReportedRequest): boolean {
  return completedAt === null && endedAt === null;
}

/** The rank of evidence, for sorting; a target that is still open ranks lowest. */
export function strength(evidence: Evidence | null): number {
  return evidence === null ? -1 : evidences.indexOf(evidence);
}
