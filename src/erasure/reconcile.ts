import type { JobContext } from '../job/job-context.ts';
import type { RequestState } from '../ledger/vocabulary.ts';
import { listRequests } from '../mirror/erasure-requests.ts';
import { askService } from './ask-service.ts';
import { eraseHere, type LocalResult } from './erase-here.ts';
import { recordStandingFence, type FenceResult } from './fence/fence-requests.ts';
import { finishRequests, type FinishResult } from './finish.ts';
import { planErasure } from './plan.ts';
import { alignStates } from './request/request-state.ts';

/** What a reconciliation did. Numbers only. */
export type ErasureResult = FenceResult &
  LocalResult &
  FinishResult & {
    /** How many steps the service failed at. They are taken again the next time. */
    upstreamFailed: number;
    /** Requests that an operator has to look at, or to approve. */
    attention: number;
    waiting: number;
  };

/** The whole way of the open erasure requests: plan, erase here, ask the service, finish. `only`: the ids of those meant. */
export async function reconcileErasure(context: JobContext, only?: ReadonlySet<string>): Promise<ErasureResult> {
  const here = await eraseHere(context, await planErasure(context, only));
  return { ...here, ...(await askServiceAndFinish(context)) };
}

/** Takes every fenced request as far as it can go now at the service, and ends those that have reached everything. */
export async function askServiceAndFinish(
  context: JobContext,
): Promise<Omit<ErasureResult, keyof FenceResult | keyof LocalResult>> {
  const ledger = context.ledger();
  let upstreamFailed = 0;
  try {
    upstreamFailed = await askService(context);
  } finally {
    alignStates(context.db);
  }
  const finished = await finishRequests(context);
  if (ledger.size() > 0) ledger.checkpoint();
  const open = listRequests(context.db, 'open');
  const countIn = (...states: RequestState[]): number => open.filter(({ state }) => states.includes(state)).length;
  return {
    upstreamFailed,
    ...finished,
    attention: countIn('attention', 'held'),
    waiting: countIn('received', 'scoped', 'executing', 'locally_verified', 'awaiting_upstream'),
  };
}

/**
 * Ends what can be ended after a reconciliation has failed: neither a service that is down nor a file that cannot be read
 * decides how long identifiers are kept.
 */
export async function finishAfterFailure(context: JobContext): Promise<void> {
  recordStandingFence(context);
  await finishRequests(context);
}

/** Two rounds in one: what was done is added up, and what is open is what the later round found open. */
export function sumOfRounds(first: ErasureResult, second: ErasureResult): ErasureResult {
  const sum = { ...second };
  for (const name of Object.keys(second) as (keyof ErasureResult)[])
    if (name !== 'attention' && name !== 'waiting') sum[name] += first[name];
  return sum;
}
