import { httpDateMs } from './time.ts';

/** The `Date` of an answer, and this machine's clock when its request was sent and when it had come. Milliseconds since 1970. */
export type Heard = { dateMs: number; sentAtMs: number; answeredAtMs: number };

/** No time of a service is later: the ledger writes years with four digits. */
const dateMaxMs = Date.parse('9999-01-01T00:00:00.000Z');

/** What an answer tells of the service's time; undefined where its `Date` is missing or no time. */
export function heardOf(date: string | undefined, sentAtMs: number, answeredAtMs: number): Heard | undefined {
  const dateMs = httpDateMs(date ?? '');
  return dateMs >= 0 && dateMs < dateMaxMs ? { dateMs, sentAtMs, answeredAtMs } : undefined;
}

/**
 * The present, as far as this machine's clock and the service's tell it: if one of the two is right, it lies between the two
 * times (milliseconds since 1970). So a wait begins at the latest time, and is over only once the earliest one says so.
 */
export type Present = {
  earliestMs: number;
  latestMs: number;
  /** How far this machine's clock is ahead of the service's, behind where below 0; null where no answer has told a time. */
  aheadMs: number | null;
};

/** Clocks that are no farther apart agree. Only then does anything end for good because of a time. */
export const apartMaxMs = 120_000;

/** Whether a time was told by a clock that was ahead, by what this machine's clock says now. Both in milliseconds since 1970. */
export function isDatedAhead(timeMs: number, nowMs: number): boolean {
  return timeMs > nowMs + apartMaxMs;
}

/** A `Date` has whole seconds, cut. */
const dateStepMs = 1000;

/** Who tells the time: this machine's clock, and the service, where there is one. */
type Tellers = { clock: { now: () => number }; service: { heard?: () => Heard | undefined } | null };

/**
 * The present by this machine's clock, and by the last answer that told the service's. From that answer on, this clock counts for
 * `apartMaxMs` at most: it may have jumped since.
 */
export function presentOf({ clock, service }: Tellers): Present {
  const nowMs = clock.now();
  const heard = service?.heard?.();
  if (!heard) return { earliestMs: nowMs, latestMs: nowMs, aheadMs: null };
  const serviceMs = heard.dateMs + Math.min(Math.max(nowMs - heard.answeredAtMs, 0), apartMaxMs);
  return {
    earliestMs: Math.min(nowMs, serviceMs + dateStepMs),
    latestMs: Math.max(nowMs, serviceMs),
    aheadMs: aheadMsOf(heard),
  };
}

/** The service may have told its time at any moment between request and answer. */
function aheadMsOf({ dateMs, sentAtMs, answeredAtMs }: Heard): number {
  if (sentAtMs > dateMs + dateStepMs) return sentAtMs - dateMs;
  return Math.min(answeredAtMs - dateMs, 0);
}

/** Whether clocks that are so far apart agree; not where it is unknown. */
export function isAgreed(aheadMs: number | null): boolean {
  return aheadMs !== null && Math.abs(aheadMs) <= apartMaxMs;
}
