import { isoTime } from '../core/clock.ts';
import { countText, secondText } from '../core/words.ts';
import { learningRange, learntWindow, type Pace, throttleAt } from './pace.ts';
import type { RateWindow } from './rate-limit.ts';

/** What answers 429 have taught about a budget, for people and for `--json`. Times are ISO 8601 UTC. */
export type BudgetStanding = {
  /** No request is sent before, since the service asked for a pause; null where it asks for none now. */
  pausedUntil: string | null;
  /** The window that may be learnt, as it is now and as it is configured; null where none may. */
  learnt: {
    requests: number;
    perSeconds: number;
    configured: number;
    upTo: number;
    /** When it was raised or lowered last, and until when it is not raised since a 429 came; null where neither is so. */
    since: string | null;
    keptUntil: string | null;
  } | null;
};

/** How a budget with these limits stands, at a time of the clock by which the pace is kept. */
export function budgetStanding(
  { windows, learnUpTo }: { windows: readonly RateWindow[]; learnUpTo: RateWindow | null },
  { throttle, learnt }: Pace,
  nowMs: number,
): BudgetStanding {
  const { pausedUntilMs } = throttleAt(throttle, nowMs);
  const range = learningRange(windows, learnUpTo);
  return {
    pausedUntil: pausedUntilMs > nowMs ? isoTime(pausedUntilMs) : null,
    learnt: range
      ? {
          ...learntWindow(range, learnt),
          configured: range.requests,
          upTo: range.upTo,
          since: learnt.sinceMs > 0 ? isoTime(learnt.sinceMs) : null,
          keptUntil: learnt.keptUntilMs > nowMs ? isoTime(learnt.keptUntilMs) : null,
        }
      : null,
  };
}

/** The sentence of a pause that the service has asked for; none where there is no pause. */
export function pauseText({ pausedUntil }: BudgetStanding): string[] {
  return pausedUntil === null
    ? []
    : [`the service asked for a pause (429): no request is sent before ${secondText(pausedUntil)}`];
}

/** The sentence of the limit that is learnt; none where none may be. */
export function learntText({ learnt }: BudgetStanding): string[] {
  if (learnt === null) return [];
  const { requests, perSeconds, configured, upTo, since, keptUntil } = learnt;
  const span = perSeconds === 3600 ? 'an hour' : `in ${countText(perSeconds)} s`;
  const origin = since === null ? 'as configured; nothing was learnt yet' : `learnt ${secondText(since)}`;
  const range = `budget.windows has ${countText(configured)}, budget.learnUpTo ${countText(upTo)}`;
  const kept = keptUntil === null ? '' : `; since a 429 came it is not raised before ${secondText(keptUntil)}`;
  return [`${countText(requests)} requests ${span} are allowed (${origin}; ${range})${kept}`];
}
