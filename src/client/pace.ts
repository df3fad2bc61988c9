import { z } from 'zod';
import type { Lane } from '../contract/datasets.ts';
import { nothingLearnt, lowerLimit, type LearningRange, type LearntLimit } from './learnt-limit.ts';
import { throttleMore, unthrottled, type Throttle } from './throttle.ts';

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
