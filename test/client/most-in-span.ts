import type { RateWindow } from '../../src/client/rate-limit.ts';

/** How many times at most lie in any span of a window's length. */
export function mostInSpan(times: readonly number[], { perSeconds }: RateWindow): number {
  const sorted = times.toSorted((a, b) => a - b);
  let most = 0;
  let first = 0;
  for (const [index, time] of sorted.entries()) {
    while ((sorted[first] ?? time) <= time - perSeconds * 1000) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
