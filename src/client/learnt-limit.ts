import { requestsLeft, type RateWindow } from './rate-limit.ts';

/**
 * What was learnt of a window: how many requests it holds, since when, and until when it is not raised again. Times are in
 * milliseconds since 1970. `requests` is 0 where nothing was learnt.
 */
export type LearntLimit = { requests: number; sinceMs: number; keptUntilMs: number };

/** Nothing was learnt: the configured windows hold. */
export const nothingLearnt: LearntLimit = { requests: 0, sinceMs: 0, keptUntilMs: 0 };

/** A configured window that may be raised, and the most requests that it may ever hold. */
export type LearningRange = RateWindow & { upTo: number };

const raiseFactor = 1.25;
const lowerFactor = 0.8;
/** After a 429 the window is not raised for a day. So the service refuses the same budget at most once a day. */
const keptMs = 86_400_000;

/** The window that may be raised, if the settings name one. */
export function learningRange(windows: readonly RateWindow[], learnUpTo: RateWindow | null): LearningRange | undefined {
  const window = windows.find(({ perSeconds }) => perSeconds === learnUpTo?.perSeconds);
  return window && learnUpTo ? { ...window, upTo: Math.max(window.requests, learnUpTo.requests) } : undefined;
}

/** The window as it was learnt: never below what is configured, never above what may be learnt. */
export function learntWindow({ requests, perSeconds, upTo }: LearningRange, learnt: LearntLimit): RateWindow {
  return { requests: Math.min(upTo, Math.max(requests, learnt.requests)), perSeconds };
}

/**
 * Raises a window by a quarter once it is full: the service has taken all of its requests without a 429. `times` are those of
 * the requests, the oldest first. Returns the same value where nothing is raised.
 */
export function raiseLimit(
  learnt: LearntLimit,
  range: LearningRange,
  times: readonly number[],
  nowMs: number,
): LearntLimit {
  const window = learntWindow(range, learnt);
  const keptForMs = learnt.keptUntilMs - nowMs;
  // A time further ahead was noted before the clock was set back.
  const isKept = keptForMs > 0 && keptForMs <= 2 * keptMs;
  const isFull = requestsLeft(times, [window], nowMs) === 0;
  if (isKept || !isFull || window.requests >= range.upTo) return learnt;
  const requests = Math.min(range.upTo, Math.ceil(window.requests * raiseFactor));
  return { requests, sinceMs: nowMs, keptUntilMs: 0 };
}

/** After a 429: four fifths of what the service has taken within the window, never more than before, and for a day no more. */
export function lowerLimit(
  learnt: LearntLimit,
  range: LearningRange,
  times: readonly number[],
  nowMs: number,
): LearntLimit {
  const { requests: before, perSeconds } = learntWindow(range, learnt);
  const taken = times.filter((time) => time > nowMs - perSeconds * 1000).length;
  const requests = Math.max(range.requests, Math.floor(Math.min(before, taken) * lowerFactor));
  return { requests, sinceMs: nowMs, keptUntilMs: nowMs + keptMs };
}
