import { isoTime } from '../../core/clock.ts';
import { isoToMicros } from '../../core/time.ts';
import type { AttentionReason } from '../../ledger/vocabulary.ts';
import type { ErasureTarget } from '../../mirror/erasure-targets.ts';
import type { Holder, LivingPerson, PersonLook } from './look-up-person.ts';

/** What is to be done about a subject's person now. */
export type PersonStep =
  | { do: 'delete'; living: LivingPerson[] }
  /** The service has taken the deletion, or may have, and may still be at it. */
  | { do: 'wait' }
  | { do: 'confirm' }
  | { do: 'settle'; result: 'already_absent' | 'deleted' }
  /** `holders`: the persons, by uuid, because of whom. */
  | { do: 'call'; reason: AttentionReason; holders?: string[] };

/**
 * How often each deletion is sent, and how often the service has to say that no person is left. `queues`: the service may
 * delete later than it answers, and also where its answer was lost.
 */
export type PersonLimits = { attemptsMax: number; confirmations: number; queues: boolean };

type TargetFacts = Pick<ErasureTarget, 'status' | 'attempts' | 'confirmations' | 'notBefore' | 'sentBy'>;

/** What is known of a subject beside its look: `persons` is how many it may have. */
type KnownFacts = {
  createdAt: string | null;
  persons: number;
  /** The persons, by uuid, that may have a distinct id of the subject: an operator has approved it. */
  sharedWith: readonly string[];
  /** The persons, by uuid, of all open requests. */
  going: ReadonlySet<string>;
};

/**
 * Decides by what the service says of a subject, and by what was done before. `attempts` counts the deletions that were
 * sent and not refused; `waiting` means that the last one was accepted.
 */
export function planPerson(
  target: TargetFacts,
  look: Omit<PersonLook, 'shown'>,
  known: KnownFacts,
  limits: PersonLimits,
): PersonStep {
  const { status, attempts, confirmations, notBefore } = target;
  const { living, leadsElsewhere, holders, isAskedById } = look;
  const { createdAt, persons } = known;
  if (leadsElsewhere) return { do: 'call', reason: 'outcome_unknown' };
  const standing = holders.filter((holder) => isStanding(holder, target, known, living.size > 0));
  if (standing.length > 0)
    return { do: 'call', reason: 'distinct_id_elsewhere', holders: standing.map(({ uuid }) => uuid).toSorted() };
  if (living.size === 0) {
    // Lists without the person are enough only after the service has accepted the deletion.
    if (!isAskedById && (attempts === 0 || status !== 'waiting' || holders.length > 0))
      return { do: 'call', reason: 'outcome_unknown' };
    if (confirmations + 1 < limits.confirmations) return { do: 'confirm' };
    return { do: 'settle', result: attempts === 0 ? 'already_absent' : 'deleted' };
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

/** A person that the service creates so soon after an answer may stand before it: its clocks need not agree. */
const closeMs = 60_000;

/**
 * Whether a person that has a distinct id of the subject keeps it from being gone. One that was created after the deletion was sent
 * has come by it since: a device that still sends events makes such a person. Any other may be a part of the subject that was split
 * off, or the one that it was merged into. Times are the service's; one that is not known counts as before.
 */
function isStanding(
  { uuid, createdAt }: Holder,
  { attempts, sentBy }: TargetFacts,
  { sharedWith, going }: KnownFacts,
  isSubjectThere: boolean,
): boolean {
  if (sharedWith.includes(uuid)) return false;
  // A person of another request is going by itself, and does not keep this one from being sent.
  if (attempts === 0) return !isSubjectThere || !going.has(uuid);
  return sentBy === null || !isLater(createdAt, isoTime(Date.parse(sentBy) + closeMs));
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
