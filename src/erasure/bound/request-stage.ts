import type { RequestHistory } from '../../ledger/request-history.ts';
import type { RequestState } from '../../ledger/vocabulary.ts';
import type { ErasureRequest } from '../../mirror/erasure-requests.ts';

/** How far a request is, as far as mirror and ledger both know it. */
type Stage = 'refused' | 'cancelled' | (typeof way)[number];

const way = ['open', 'fenced', 'verified', 'certified', 'sealed'] as const;

/** The least stage of each state of a request in the mirror; `attention` is between fence and seal. */
const leastStage: Readonly<Record<RequestState, Stage>> = {
  received: 'open',
  scoped: 'open',
  held: 'open',
  refused: 'refused',
  cancelled: 'cancelled',
  fenced: 'fenced',
  executing: 'fenced',
  locally_verified: 'verified',
  awaiting_upstream: 'verified',
  attention: 'fenced',
  certified: 'certified',
  sealed: 'sealed',
};

/** How far a request is by the ledger. */
export function recordedStage(history: RequestHistory): Stage {
  const { state, endedAt, sealed, certified, verified, fence, generation } = history;
  if (endedAt !== null && (state === 'refused' || state === 'cancelled')) return state;
  if (sealed !== null) return 'sealed';
  if (certified.some((issued) => issued.generation === generation)) return 'certified';
  if (verified !== null) return 'verified';
  return fence?.generation === generation ? 'fenced' : 'open';
}

function stageOf(facts: ErasureRequest): Stage {
  if (facts.cancelledAt !== null) return 'cancelled';
  if (facts.refusedAt !== null) return 'refused';
  const reached = [facts.fencedAt, facts.verifiedAt, facts.certifiedAt, facts.sealedAt];
  return way[reached.findLastIndex((at) => at !== null) + 1] ?? 'open';
}

/**
 * Whether the mirror says of a request what the ledger says. The mirror may be one step behind, since a kill can come between
 * the two; `isFencing`: whether a fence was begun that may stand already.
 */
export function isAsRecorded(
  request: ErasureRequest,
  history: RequestHistory | undefined,
  isFencing: boolean,
): boolean {
  if (!history || request.generation > history.generation) return false;
  const stage = stageOf(request);
  if (!isStateOf(request.state, stage)) return false;
  const recorded = recordedStage(history);
  // The ledger has just opened it again, or has ended it.
  if (request.generation < history.generation) return recorded === 'open';
  if (stage === recorded) return true;
  if (recorded === 'refused' || recorded === 'cancelled') return stage === 'open';
  if (recorded === 'open') return stage === 'fenced' ? isFencing || keepsFence(history) : isListedAgain(history, stage);
  const steps = rankOf(recorded) - rankOf(stage);
  // Its age can end a request at any step after its fence.
  return steps === 1 || (recorded === 'sealed' && steps > 0 && stage !== 'open');
}

/** Whether a request was opened again and keeps the fence of an earlier generation: its identifiers were destroyed. */
function keepsFence({ generation, fence }: RequestHistory): boolean {
  return fence !== null && fence.generation < generation;
}

/** A person that the service lists again is looked for at the service only: what was verified here stays verified. */
function isListedAgain(history: RequestHistory, stage: Stage): boolean {
  return stage === 'verified' && keepsFence(history) && history.reopenedFor === 'listed_again';
}

function rankOf(stage: Stage): number {
  return way.findIndex((step) => step === stage);
}

function isStateOf(state: RequestState, stage: Stage): boolean {
  const least = leastStage[state];
  if (least === stage) return true;
  const isOnWay = rankOf(least) > 0 && rankOf(stage) > 0 && least !== 'sealed' && stage !== 'sealed';
  return isOnWay && rankOf(least) <= rankOf(stage);
}

/** A request with the state that the ledger has, where the mirror says something else that no kill can leave. */
export function believed(request: ErasureRequest, history: RequestHistory | undefined): ErasureRequest {
  if (!history || isAsRecorded(request, history, true)) return request;
  return { ...request, state: history.state, reason: history.reason };
}
