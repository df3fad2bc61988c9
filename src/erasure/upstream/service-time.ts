import { isoTime } from '../../core/clock.ts';
import { nextBatchAfter } from '../../contract/weekly-batch.ts';

const dayMs = 86_400_000;

/** The service's own time of an answer, from its `Date` header; undefined where it gives none that is a time. */
export function serviceTimeMs(date: string | undefined): number | undefined {
  const timeMs = Date.parse(date ?? '');
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

/**
 * By when the events of a deletion that was accepted at a time (the service's) should be gone: a day after the first
 * batch that comes after it. A time of the batch itself is too late for that batch.
 */
export function eventsExpectedBy(acceptedAtMs: number): string {
  return isoTime(nextBatchAfter(acceptedAtMs) + dayMs);
}

/** From when on a deletion that was expected by a time is overdue: the second batch has had its day as well. */
export function overdueAtMs(expectedBy: string): number {
  return Date.parse(expectedBy) + 7 * dayMs;
}
