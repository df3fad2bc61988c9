import { z } from 'zod';
import type { Lane } from '../contract/datasets.ts';
import { type RateWindow, requestsLeft } from './rate-limit.ts';

/**
 * What was learnt of a window: how many requests it holds, since when, and until when it is not raised again. Times are in
 * milliseconds since 1970. `requests` is 0 where nothing was learnt.
 */
export type LearntLimit = { requests: number; sinceMs: number; keptUntilMs: number };

/** Nothing was learnt: the configured windows hold. */
const nothingLearnt: LearntLimit = { requests: 0, sinceMs: 0, keptUntilMs: 0 };

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
function lowerLimit(learnt: LearntLimit, range: LearningRange, times: readonly number[], nowMs: number): LearntLimit {
  const { requests: before, perSeconds } = learntWindow(range, learnt);
  const taken = times.filter((time) => time > nowMs - perSeconds * 1000).length;
  const requests = Math.max(range.requests, Math.floor(Math.min(before, taken) * lowerFactor));
  return { requests, sinceMs: nowMs, keptUntilMs: nowMs + keptMs };
}

/** How far requests are slowed since a 429: none until `pausedUntilMs`, then a `share` of each window, which grows. */
export type Throttle = { cutAtMs: number; share: number; pausedUntilMs: number };

/** An answer 429: when its request was sent, when it came, and how long it asks to pause. */
export type Throttling = { sentAtMs: number; nowMs: number; pauseMs: number };

const cutFactor = 0.5;
const shareMin = 0.1;
const sharePerMs = 0.1 / 60_000;

/** Requests are not slowed down. */
export const unthrottled: Throttle = { cutAtMs: 0, share: 1, pausedUntilMs: 0 };

/** Pauses as long as asked and halves the share, to a tenth at least. Answers 429 to one burst cut only once. */
export function throttleMore(before: Throttle, { sentAtMs, nowMs, pauseMs }: Throttling): Throttle {
  const throttle = throttleAt(before, nowMs);
  const pausedUntilMs = Math.max(throttle.pausedUntilMs, nowMs + pauseMs);
  if (sentAtMs < throttle.cutAtMs) return { ...throttle, pausedUntilMs };
  const share = Math.max(shareMin, shareAt(throttle, nowMs) * cutFactor);
  return { cutAtMs: nowMs, share, pausedUntilMs };
}

/** The same throttle after the clock was set back: as if the answer had just come, so that no request waits longer. */
export function throttleAt(throttle: Throttle, nowMs: number): Throttle {
  const aheadMs = throttle.cutAtMs - nowMs;
  if (aheadMs <= 0) return throttle;
  return { ...throttle, cutAtMs: nowMs, pausedUntilMs: throttle.pausedUntilMs - aheadMs };
}

/** The windows as they are used now. The share grows by a tenth a minute; at least one request is allowed. */
export function throttledWindows(
  throttle: Throttle,
  windows: readonly RateWindow[],
  nowMs: number,
): readonly RateWindow[] {
  const share = shareAt(throttle, nowMs);
  if (share === 1) return windows;
  return windows.map(({ requests, perSeconds }) => ({
    requests: Math.max(1, Math.floor(requests * share)),
    perSeconds,
  }));
}

/** Whether the windows are used in full again. */
export function isFullShare(throttle: Throttle, nowMs: number): boolean {
  return shareAt(throttle, nowMs) === 1;
}

function shareAt({ cutAtMs, share }: Throttle, nowMs: number): number {
  return Math.min(1, share + (nowMs - cutAtMs) * sharePerMs);
}

/**
 * What the service's answers 429 have taught all who share one budget: the throttle that they brought, and the limit that was
 * learnt. It is kept beside the request times, and by their clock.
 */
export type Pace = { throttle: Throttle; learnt: LearntLimit };

/** No answer was a 429, and nothing was learnt. */
export const freshPace: Pace = { throttle: unthrottled, learnt: nothingLearnt };

const Kept = z.object({
  throttle: z.object({ cutAtMs: z.number(), share: z.number(), pausedUntilMs: z.number() }),
  learnt: z.object({ requests: z.int(), sinceMs: z.number(), keptUntilMs: z.number() }),
});

/** The pace that a store keeps as JSON. Anything else, and nothing, is a fresh one. */
export function readPace(text: string | undefined): Pace {
  try {
    return Kept.parse(JSON.parse(text ?? ''));
  } catch {
    return freshPace;
  }
}

/** An answer 429: of which lane, how long ago its request was sent, and for how long it asks to pause. */
export type Throttled = { lane: Lane; tookMs: number; pauseMs: number };

/** The pace after a 429. Answers to one burst count once. `range` is what may be learnt, `times` those of all requests. */
export function slowPace(
  pace: Pace,
  { lane, tookMs, pauseMs }: Throttled,
  { range, times, nowMs }: { range: LearningRange | undefined; times: readonly number[]; nowMs: number },
): Pace {
  const sentAtMs = nowMs - tookMs;
  const throttle = throttleMore(pace.throttle, { sentAtMs, nowMs, pauseMs });
  // The narrower limits of the list of recordings say nothing about those of other requests.
  const isNews = range !== undefined && lane === 'general' && sentAtMs >= pace.throttle.cutAtMs;
  return { throttle, learnt: isNews ? lowerLimit(pace.learnt, range, times, nowMs) : pace.learnt };
}
