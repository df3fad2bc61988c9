import type { HeldReason, RefusalReason } from '../../ledger/vocabulary.ts';

/** What a decision about a request that is not fenced yet depends on. */
export type Candidate = {
  id: string;
  isApproved: boolean;
  /** Whether the mirror, a file or the service knows the subject; null where the service has to be asked first. */
  isFound: boolean | null;
  isShared: boolean;
  /** The earlier request that erased the same person. */
  erasedBy: string | null;
  /** How many living persons the given identifier names. */
  personsNamed: number;
  /** Whether one of them is not among those that the operator who approved was shown. */
  isNamedAnew: boolean;
  /** How many persons are to be erased. */
  persons: number;
  /** Whether the service has deleted the subject, and nobody has asked for it. */
  isUnasked: boolean;
  /** Whether it is held for being one of too many. */
  isOneOfTooMany: boolean;
};

/** What is to be done with a request now. */
export type Decision =
  | { id: string; decision: 'fence' }
  | { id: string; decision: 'hold'; reason: HeldReason }
  | { id: string; decision: 'refuse'; reason: RefusalReason }
  | { id: string; decision: 'wait'; reason: 'service_not_asked' };

/**
 * Decides which requests go on. A request is held for approval where it would touch another living person, where its
 * identifier names several persons, and where there are more requests or persons at once than `maxBatch`. An approval
 * covers all three, of several persons those that were shown. A request is refused only after the service has been asked.
 * What the service deleted by itself is neither counted nor held for being many: its pass has judged how many rows may go at once. What is
 * held for being one of too many stays held, and holds no request that comes later.
 */
export function planFence(candidates: readonly Candidate[], maxBatch: number): Decision[] {
  const decisions = candidates.map((candidate): Decision => {
    const { id, isApproved, isFound, isShared, personsNamed, isNamedAnew, erasedBy } = candidate;
    if (isFound === null) return { id, decision: 'wait', reason: 'service_not_asked' };
    if (!isFound) return { id, decision: 'refuse', reason: erasedBy === null ? 'unknown_subject' : 'already_erased' };
    // An attacker may have taken the identifier in order to have its owner erased.
    if (personsNamed > 1 && (!isApproved || isNamedAnew)) return { id, decision: 'hold', reason: 'several_persons' };
    if (isShared && !isApproved) return { id, decision: 'hold', reason: 'shared_identifier' };
    return { id, decision: 'fence' };
  });
  const asked = candidates.filter(({ isApproved, isUnasked }) => !isApproved && !isUnasked);
  const going = new Set(decisions.flatMap(({ id, decision }) => (decision === 'fence' ? id : [])));
  const atOnce = asked
    .filter(({ id, isOneOfTooMany }) => going.has(id) && !isOneOfTooMany)
    .reduce((sum, { persons }) => sum + Math.max(1, persons), 0);
  const tooMany = new Set(asked.flatMap(({ id, isOneOfTooMany }) => (isOneOfTooMany || atOnce > maxBatch ? id : [])));
  return decisions.map((each) =>
    each.decision === 'fence' && tooMany.has(each.id) ? { id: each.id, decision: 'hold', reason: 'too_many' } : each,
  );
}
