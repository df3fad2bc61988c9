import { setTimeout as delay } from 'node:timers/promises';

/** The only way in which this program reads the time or waits. Tests use their own clock. */
export type Clock = {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /** Resolves after `ms` milliseconds; rejects at once with the signal's reason when it is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
};

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, signal ? { signal } : {});
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
};

/** A time as ISO 8601 text in UTC with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The newest of some times in ISO 8601 UTC, of which some may be unknown; null where all are. */
export function newestTime(times: readonly (string | null | undefined)[]): string | null {
  const known = times.flatMap((time) => time ?? []);
  return known.toSorted().at(-1) ?? null;
}

/** A clock cuts off fractions of a millisecond: what ends at a time that it tells may end so much later. */
export const clockStepMs = 1;

/** Whether a time (milliseconds since 1970) is further from now than a limit: it is too old, or a wrong clock has told it. */
export function isOutdated(timeMs: number, { nowMs, limitMs }: { nowMs: number; limitMs: number }): boolean {
  return Math.abs(nowMs - timeMs) > limitMs;
}
