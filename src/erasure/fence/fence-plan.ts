import type { HeldReason, RefusalReason } from '../../ledger/vocabulary.ts';

/** What a decision about a request that is not fenced yet depends on. */
export type Candidate = {
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
  | { decision: 'fence' }
  | { decision: 'hold'; reason: HeldReason }
  | { decision: 'refuse'; reason: RefusalReason }
  | { decision: 'wait'; reason: 'service_not_asked' };

/**
 * Decides which requests go on. A request is held for approval where it would touch another living person, where its
 * identifier names several persons, and where there are more requests or persons at once than `maxBatch`. An approval
 * covers all three, of several persons those that were shown. A request is refused only after the service has been asked.
 * What the service deleted by itself is neither counted nor held for being many: its pass has judged how many rows may go at once. What is
 * held for being one of too many stays held, and holds no request that comes later.
 */
export function planFence(candidates: readonly Candidate[], maxBatch: number): Decision[] {
  const decisions = new Map(candidates.map((candidate) => [candidate, decideAlone(candidate)]));
  const counted = candidates.filter(
    (each) => decisions.get(each)?.decision === 'fence' && !each.isApproved && !each.isUnasked,
  );
  const atOnce = counted
    .filter(({ isOneOfTooMany }) => !isOneOfTooMany)
    .reduce((sum, { persons }) => sum + Math.max(1, persons), 0);
  for (const each of counted)
    if (each.isOneOfTooMany || atOnce > maxBatch) decisions.set(each, { decision: 'hold', reason: 'too_many' });
  return [...decisions.values()];
}

/** What becomes of a request, however many others there are. */
function decideAlone({ isApproved, isFound, isShared, personsNamed, isNamedAnew, erasedBy }: Candidate): Decision {
  if (isFound === null) return { decision: 'wait', reason: 'service_not_asked' };
  if (!isFound) return { decision: 'refuse', reason: erasedBy === null ? 'unknown_subject' : 'already_erased' };
  // An attacker may have taken the identifier in order to have its owner erased.
  if (personsNamed > 1 && (!isApproved || isNamedAnew)) return { decision: 'hold', reason: 'several_persons' };
  if (isShared && !isApproved) return { decision: 'hold', reason: 'shared_identifier' };
  return { decision: 'fence' };
}
