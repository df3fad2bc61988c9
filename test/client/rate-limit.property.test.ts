import fc from 'fast-check';
import { expect, test } from 'vitest';
import { requestsLeft, timesKept, waitMsUntilFree, type RateWindow } from '../../src/client/rate-limit.ts';

const windows = fc.array(
  fc.record({
    requests: fc.integer({ min: 1, max: 6 }),
    perSeconds: fc.integer({ min: 1, max: 20 }).map((tenths) => tenths / 10),
  }),
  { maxLength: 3 },
);
const pausesMs = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3000 })), { maxLength: 60 });

/** How many times lie in the span of a window's length that ends with `endMs`, the end included. */
function countInSpan(times: readonly number[], { perSeconds }: RateWindow, endMs: number): number {
  return times.filter((time) => time > endMs - perSeconds * 1000 && time <= endMs).length;
}

test('no span holds more than its window allows, and no request waits longer than it must', () => {
  fc.assert(
    fc.property(windows, pausesMs, (windows, pauses) => {
      const times: number[] = [];
      let nowMs = 0;
      for (const pauseMs of pauses) {
        nowMs += pauseMs;
        const kept = times.slice(Math.max(0, times.length - timesKept(windows)));
        const waitMs = waitMsUntilFree(kept, windows, nowMs);
        expect(waitMs).toBeGreaterThanOrEqual(0);
        const left = requestsLeft(kept, windows, nowMs);
        if (windows.length > 0) expect(left === 0).toBe(waitMs > 0);
        expect(waitMsUntilFree(times, windows, nowMs)).toBe(waitMs);
        nowMs += waitMs;
        if (waitMs > 0) {
          const isTakenBefore = windows.some((window) => countInSpan(times, window, nowMs - 1) >= window.requests);
          expect(isTakenBefore).toBe(true);
        }
        times.push(nowMs);
        for (const window of windows) expect(countInSpan(times, window, nowMs)).toBeLessThanOrEqual(window.requests);
        const free = windows.map((window) => window.requests - countInSpan(times, window, nowMs));
        const keptNow = times.slice(Math.max(0, times.length - timesKept(windows)));
        expect(requestsLeft(keptNow, windows, nowMs)).toBe(windows.length === 0 ? null : Math.min(...free));
      }
    }),
    { numRuns: 500 },
  );
});

test('without windows nothing waits, and nothing is remembered', () => {
  expect(waitMsUntilFree([1, 2, 3], [], 3)).toBe(0);
  expect(timesKept([])).toBe(0);
});
