import { isoToMicros } from '../../core/time.ts';
import type { AttentionReason } from '../../ledger/vocabulary.ts';
import type { ErasureTarget } from '../../mirror/erasure-targets.ts';
import type { LivingPerson, PersonLook } from './look-up-person.ts';

/** What is to be done about a subject's person now. */
export type PersonStep =
  | { do: 'delete'; living: LivingPerson[] }
  /** The service has taken the deletion, or may have, and may still be at it. */
  | { do: 'wait' }
  | { do: 'confirm' }
  | { do: 'settle'; result: 'already_absent' | 'deleted' }
  | { do: 'call'; reason: AttentionReason };

/**
 * How often each deletion is sent, and how often the service has to say that no person is left. `queues`: the service may
 * delete later than it answers, and also where its answer was lost.
 */
export type PersonLimits = { attemptsMax: number; confirmations: number; queues: boolean };

type TargetFacts = Pick<ErasureTarget, 'status' | 'attempts' | 'confirmations' | 'notBefore'>;

/**
 * Decides by what the service says of a subject, and by what was done before. `attempts` counts the deletions that were
 * sent and not refused; `waiting` means that the last one was accepted; `persons` is how many persons the subject may have.
 */
export function planPerson(
  { status, attempts, confirmations, notBefore }: TargetFacts,
  { living, leadsElsewhere, isHeldByAnother, isAskedById }: PersonLook,
  { createdAt, persons }: { createdAt: string | null; persons: number },
  limits: PersonLimits,
): PersonStep {
  if (leadsElsewhere) return { do: 'call', reason: 'outcome_unknown' };
  if (living.size === 0) {
    // After a deletion, another person may get the distinct id. Before one, that person may be the one that the subject was
    // merged into.
    if (isHeldByAnother && (attempts === 0 || !isAskedById)) return { do: 'call', reason: 'outcome_unknown' };
    // Lists without the person are enough only after the service has accepted the deletion.
    if (!isAskedById && status !== 'waiting') return { do: 'call', reason: 'outcome_unknown' };
    if (attempts === 0) return { do: 'settle', result: 'already_absent' };
    return confirmations + 1 < limits.confirmations ? { do: 'confirm' } : { do: 'settle', result: 'deleted' };
  }
  const present = [...living.values()].toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1));
  // Later events bring a deleted person back under its uuid: deleting it again would never end.
  if (attempts > 0 && present.some((person) => isLater(person.createdAt, createdAt)))
    return { do: 'call', reason: 'recreated' };
  const mayBeUnderWay = status === 'waiting' || (limits.queues && status === 'intended');
  if (mayBeUnderWay && notBefore === null) return { do: 'wait' };
  if (attempts >= limits.attemptsMax * persons) return { do: 'call', reason: 'outcome_unknown' };
  return { do: 'delete', living: present };
}

/** The latest of some times, as they are written; null where none is known. */
export function latestOf(times: readonly (string | null)[]): string | null {
  return times.reduce((latest, time) => (isLater(time, latest) || latest === null ? time : latest), null);
}

/** Whether one time is after another, to the microsecond; false where either is none. */
export function isLater(time: string | null, than: string | null): boolean {
  const micros = isoToMicros(time ?? '');
  const thanMicros = isoToMicros(than ?? '');
  return micros !== undefined && thanMicros !== undefined && micros > thanMicros;
}
