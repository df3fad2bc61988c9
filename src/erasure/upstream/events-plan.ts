import { isoTime } from '../../core/clock.ts';
import { isoToMicros, microsToIso } from '../../core/time.ts';
import { nextBatchAfter } from '../../contract/weekly-batch.ts';

// A service queues the deletion of a person's events as a row. It has at most one row of a person that waits (older releases:
// one row ever), and answers that it has queued one also where it has not. A row covers the events up to its own time. So a row
// that is older than a request's first deletion is somebody else's: it covers a part while it waits, and nothing once it is done.

/** A deletion of a person's events that the service shows. Times are the service's. */
export type QueuedDeletion = {
  /** The person's uuid, in lower case. */
  person: string;
  queuedMicros: bigint;
  isCompleted: boolean;
  /** Undefined before, or where the service does not say. */
  verifiedMicros: bigint | undefined;
};

/** What is to be done about a request's persons before their first deletion is sent. `isEarlier`: there are other rows. */
export type SendingStep = { do: 'wait'; expectedBy: string } | { do: 'send'; isEarlier: boolean };

/**
 * Decides by the rows that are there before the first deletion is sent. While one waits, the service queues no other, so the
 * deletion waits for it: until it is overdue, and not beyond `deadlineMs` by this machine's clock.
 */
export function planSending(
  rows: readonly QueuedDeletion[],
  { serviceMs, nowMs, deadlineMs }: { serviceMs: number; nowMs: number; deadlineMs: number },
): SendingStep {
  const waiting = rows.filter(({ isCompleted }) => !isCompleted);
  if (waiting.length > 0) {
    const expectedBy = eventsExpectedBy(newestMs(waiting));
    const isHopeless = serviceMs >= overdueAtMs(expectedBy) || Date.parse(expectedBy) > deadlineMs;
    if (!isHopeless && nowMs < deadlineMs) return { do: 'wait', expectedBy };
  }
  return { do: 'send', isEarlier: rows.length > 0 };
}

/**
 * How far the service's times may be apart, and more: its machines agree to some milliseconds, and the header `Date` has whole
 * seconds, cut. A row that another client made so long before a deletion was sent can be taken for that deletion's.
 */
const skewMs = 5_000;

/**
 * The time after which a row can be a request's own, if its first deletion is sent now: no row that was there before, and by
 * the service's `dateMs`, if it gives one, no row that is older. Without both, any row that comes is new.
 */
export function ownAfterOf(rows: readonly QueuedDeletion[], dateMs: number | undefined): string {
  const newestMicros = rows.reduce((newest, { queuedMicros: at }) => (at > newest ? at : newest), 0n);
  const dateMicros = dateMs === undefined ? 0n : BigInt(dateMs - skewMs) * 1000n;
  return microsToIso(Number(newestMicros > dateMicros ? newestMicros : dateMicros));
}

/** The time after which a row can be a request's own, once its only deletion was answered at `dateMs`, at most `tookMs` later. */
export function ownAfterAnswer(ownAfter: string, dateMs: number, tookMs: number): string {
  const latestMs = dateMs - tookMs - skewMs;
  return Date.parse(ownAfter) < latestMs ? isoTime(latestMs) : ownAfter;
}

/** What the service shows after the deletions of a request. `own`: a row of its own for each person that was sent. */
export type Judgement =
  | { found: 'own'; isCompleted: boolean; queuedAtMs: number }
  /** Only rows that cover a part; all events up to `until`, null where that is not so of each person. */
  | { found: 'part'; isCompleted: boolean; until: string | null }
  | { found: 'none' };

/** Judges the rows of a request's persons, of which so many were sent for deletion. */
export function judgeDeletions(
  rows: readonly QueuedDeletion[],
  { ownAfter, persons }: { ownAfter: string; persons: number },
): Judgement {
  const afterMicros = isoToMicros(ownAfter) ?? 0n;
  const own = rows.filter(({ queuedMicros }) => queuedMicros > afterMicros);
  const done = own.filter(({ isCompleted }) => isCompleted);
  if (own.length > 0 && personsOf(own) >= persons)
    return { found: 'own', isCompleted: personsOf(done) >= persons, queuedAtMs: newestMs(own) };
  // An older row that was not done when the deletion was sent kept the service from queueing another one.
  const covering = rows.filter(
    ({ queuedMicros, isCompleted, verifiedMicros = 0n }) =>
      queuedMicros > afterMicros || !isCompleted || verifiedMicros > afterMicros,
  );
  if (covering.length === 0) return { found: 'none' };
  const newest = [...Map.groupBy(covering, ({ person }) => person).values()].map(newestMs);
  return {
    found: 'part',
    isCompleted: covering.every(({ isCompleted }) => isCompleted),
    until: newest.length >= persons ? isoTime(Math.min(...newest)) : null,
  };
}

function personsOf(rows: readonly QueuedDeletion[]): number {
  return new Set(rows.map(({ person }) => person)).size;
}

/** The newest of some rows, in milliseconds since 1970, cut. */
function newestMs(rows: readonly QueuedDeletion[]): number {
  return Math.max(...rows.map(({ queuedMicros }) => Number(queuedMicros / 1000n)));
}

const dayMs = 86_400_000;

/** No time of a service is later: the ledger writes years with four digits, and a wait ends with its request. */
const latestMs = Date.parse('9999-01-01T00:00:00.000Z');

/** The service's own time of an answer, from its `Date` header; undefined where it gives none that is a time. */
export function serviceTimeMs(date: string | undefined): number | undefined {
  const timeMs = Date.parse(date ?? '');
  return timeMs >= 0 && timeMs < latestMs ? timeMs : undefined;
}

/** When the events of a deletion accepted at a time (the service's) should be gone: a day after the next batch. */
export function eventsExpectedBy(acceptedAtMs: number): string {
  return isoTime(Math.min(nextBatchAfter(acceptedAtMs) + dayMs, latestMs));
}

/** From when on a deletion that was expected by a time is overdue: the second batch has had its day as well. */
export function overdueAtMs(expectedBy: string): number {
  return Date.parse(expectedBy) + 7 * dayMs;
}
