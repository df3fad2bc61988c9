import type { RequestState, HeldReason, RefusalReason } from '../../ledger/vocabulary.ts';

/** What a decision about a request that is not fenced yet depends on. */
export type Candidate = {
  id: string;
  state: RequestState;
  isApproved: boolean;
  /** Whether the mirror, a file or the service knows the subject; null where the service could not be asked. */
  isFound: boolean | null;
  isShared: boolean;
  /** How many living persons the given identifier names. */
  personsNamed: number;
  /** How many persons are to be erased. */
  persons: number;
};

/** What is to be done with a request now. */
export type Decision =
  | { id: string; decision: 'fence' }
  | { id: string; decision: 'hold'; reason: HeldReason }
  | { id: string; decision: 'refuse'; reason: RefusalReason }
  | { id: string; decision: 'wait'; reason: 'service_not_asked' };

/**
 * Decides which requests go on. What would touch a living person waits for somebody, and so does a name that several
 * persons have, and so do more requests or persons at once than `maxBatch`; an approval covers all of it. Nobody is
 * refused before the service has been asked.
 */
export function planFence(candidates: readonly Candidate[], maxBatch: number): Decision[] {
  const decisions = candidates.map(({ id, isApproved, isFound, isShared, personsNamed }): Decision => {
    if (isFound === null) return { id, decision: 'wait', reason: 'service_not_asked' };
    if (!isFound) return { id, decision: 'refuse', reason: 'unknown_subject' };
    // Who else has the name may have taken it for that very purpose.
    if (personsNamed > 1 && !isApproved) return { id, decision: 'hold', reason: 'several_persons' };
    if (isShared && !isApproved) return { id, decision: 'hold', reason: 'shared_identifier' };
    return { id, decision: 'fence' };
  });
  const approved = new Set(candidates.filter(({ isApproved }) => isApproved).map(({ id }) => id));
  const persons = new Map(candidates.map((candidate) => [candidate.id, candidate.persons]));
  const unapproved = decisions
    .filter(({ id, decision }) => decision === 'fence' && !approved.has(id))
    .reduce((sum, { id }) => sum + Math.max(1, persons.get(id) ?? 0), 0);
  if (unapproved <= maxBatch) return decisions;
  return decisions.map((decision) =>
    decision.decision === 'fence' && !approved.has(decision.id)
      ? { id: decision.id, decision: 'hold', reason: 'too_many' }
      : decision,
  );
}
