import type { Found } from './receiver.ts';

/** How a request has ended, for a sender who may learn it. */
export const outcomes = ['erased', 'not_proved', 'nothing_held', 'erased_before', 'answered', 'cancelled'] as const;
type Outcome = (typeof outcomes)[number];

/** A request's status, as its sender is told. */
export type RequestStatus = {
  request: string;
  state: 'received' | 'closed';
  received_at: string;
  due_at: string;
  /** Null until it has ended, and to a sender who may not learn it. */
  outcome: Outcome | null;
  ended_at: string | null;
};

/**
 * The status of a request. Nothing in it depends on whether somebody was found, unless the sender may learn the outcome. A request that
 * finds nobody ends sooner than others: so the end of any is told from its due date on. What is held, and what is under way, is received.
 */
export function statusOf(found: Found, tellsOutcome: boolean, nowMs: number): RequestStatus {
  const { request, receivedAt, dueAt } = found;
  const outcome = outcomeOf(found);
  const isClosed = outcome !== null && (tellsOutcome || nowMs >= Date.parse(dueAt));
  return {
    request,
    state: isClosed ? 'closed' : 'received',
    received_at: receivedAt,
    due_at: dueAt,
    outcome: tellsOutcome ? outcome : null,
    ended_at: tellsOutcome && isClosed ? found.endedAt : null,
  };
}

function outcomeOf({ isAccess, state, reason, isUnproved }: Found): Outcome | null {
  if (state === 'sealed' && isAccess) return 'answered';
  if (state === 'sealed') return isUnproved ? 'not_proved' : 'erased';
  if (state === 'cancelled') return 'cancelled';
  if (state !== 'refused') return null;
  return reason === 'already_erased' ? 'erased_before' : 'nothing_held';
}
