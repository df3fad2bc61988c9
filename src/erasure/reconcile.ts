import { findRequest, listRequests } from '../mirror/erasure-requests.ts';
import { listTargets } from '../mirror/erasure-targets.ts';
import { readEpoch } from '../mirror/fence.ts';
import { eraseLocally, type LocalResult } from './erase-here.ts';
import { boxOf, updateRequest, type ErasureParts } from './request/request-record.ts';
import { planErasure, type PlannedErasure } from './plan.ts';
import { fenceRequests, type FenceResult } from './fence/fence-requests.ts';
import { finishRequests, type FinishResult } from './finish.ts';
import { isUpstream } from '../ledger/target.ts';
import { advanceUpstream } from './upstream/advance-upstream.ts';

/** What a reconciliation did. Numbers only. */
export type ErasureResult = FenceResult &
  LocalResult &
  FinishResult & {
    /** Steps that the service failed at, and that are taken again the next time: how many. */
    upstreamFailed: number;
    /** Requests that somebody has to look at, or to approve. */
    attention: number;
    waiting: number;
  };

/**
 * Takes every request as far as it can go now without the service: what was planned is fenced, erased and proved gone.
 * May be killed anywhere and run again.
 */
export async function eraseHere(
  parts: ErasureParts,
  { waiting }: PlannedErasure,
): Promise<FenceResult & LocalResult> {
  try {
    finishFence(parts);
    const fenced = await fenceRequests(parts, waiting);
    if (fenced.fenced > 0) parts.ledger.checkpoint();
    return { ...fenced, ...(await eraseLocally(parts)) };
  } finally {
    alignStates(parts);
  }
}

/** Takes every fenced request as far as it can go now at the service, and ends those that have reached everything. */
export async function finishThere(
  parts: ErasureParts,
): Promise<Omit<ErasureResult, keyof FenceResult | keyof LocalResult>> {
  const { db } = parts;
  let upstreamFailed = 0;
  try {
    upstreamFailed = await askService(parts);
  } finally {
    alignStates(parts);
  }
  const finished = await finishRequests(parts);
  if (parts.ledger.size() > 0) parts.ledger.checkpoint();
  const open = listRequests(db, 'open');
  const isIn = (...states: string[]): number => open.filter(({ state }) => states.includes(state)).length;
  return {
    upstreamFailed,
    ...finished,
    attention: isIn('attention', 'held'),
    waiting: isIn('received', 'scoped', 'executing', 'locally_verified', 'awaiting_upstream'),
  };
}

/**
 * Ends what can be ended after a reconciliation has failed: no service that is down, and no file that cannot be read, has a
 * say in how long identifiers are kept.
 */
export async function finishInSpite(parts: ErasureParts): Promise<void> {
  finishFence(parts);
  await finishRequests(parts);
}

/** Brings the states of all open requests in line with their targets, however far those came. */
function alignStates({ db }: ErasureParts): void {
  for (const { id } of listRequests(db, 'open')) db.transaction(() => updateRequest(db, id, {})).immediate();
}

/** All of it: plan, here, there. */
export async function reconcileErasure(
  parts: ErasureParts,
  only?: ReadonlySet<string>,
): Promise<ErasureResult> {
  const here = await eraseHere(parts, await planErasure(parts, only));
  return { ...here, ...(await finishThere(parts)) };
}

/** Takes the service's side of every fenced request as far as it can go now. Returns how many steps failed. */
async function askService(parts: ErasureParts): Promise<number> {
  const { db, service, ledger } = parts;
  if (service === null) return 0;
  const subjects = listRequests(db, 'open').flatMap((request) => {
    const isOpen = listTargets(db, request.id).some(
      ({ target, status }) => isUpstream(target) && status !== 'done',
    );
    const box = request.fencedAt !== null && isOpen ? boxOf(parts, request.id) : undefined;
    if (!box) return [];
    const { id, generation, deleteEvents } = request;
    const { identity, createdAt, memberships } = box;
    return [{ id, generation, deleteEvents, identity, createdAt, memberships }];
  });
  if (subjects.length === 0) return 0;
  const { awaiting, failed } = await advanceUpstream({ ...parts, service }, subjects);
  for (const { requestId, eventsExpectedBy } of awaiting) {
    const request = findRequest(db, requestId);
    if (!request || request.eventsExpectedBy === eventsExpectedBy) continue;
    const { generation } = request;
    ledger.append([
      { type: 'awaiting_upstream', request: requestId, generation, events_expected_by: eventsExpectedBy },
    ]);
    db.transaction(() => updateRequest(db, requestId, { eventsExpectedBy })).immediate();
  }
  return failed.length;
}

/**
 * A kill between the transaction that fences and the ledger's word of it, or within that word: the fence stands, so the
 * word is made good.
 */
function finishFence({ db, ledger }: ErasureParts): void {
  const epoch = readEpoch(db);
  const fenced = listRequests(db, 'open').filter(
    (request) => request.epoch === epoch && request.fencedAt !== null,
  );
  if (fenced.length === 0) return;
  const said = new Set<string>();
  for (const entry of ledger.entries())
    if (entry.type === 'fenced' && entry.epoch === epoch) said.add(entry.request);
  ledger.append(
    fenced
      .filter(({ id }) => !said.has(id))
      .map(({ id, generation }) => ({ type: 'fenced', request: id, generation, epoch })),
  );
}
