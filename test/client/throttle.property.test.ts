import fc from 'fast-check';
import { expect, test } from 'vitest';
import { throttleAt, throttledWindows, throttleMore, unthrottled } from '../../src/client/pace.ts';

const minuteMs = 60_000;
const thousand = [{ requests: 1000, perSeconds: 1 }];
const used = (throttle: typeof unthrottled, nowMs: number): number =>
  throttledWindows(throttle, thousand, nowMs)[0]?.requests ?? 0;

const answers = fc.array(
  fc.record({
    afterMs: fc.integer({ min: 0, max: 3 * minuteMs }),
    tookMs: fc.integer({ min: 0, max: minuteMs }),
    pauseMs: fc.integer({ min: 0, max: 10 * minuteMs }),
  }),
  { minLength: 1, maxLength: 40 },
);

test('whatever answers come, between a tenth and all is used, no pause is shortened, and all comes back', () => {
  fc.assert(
    fc.property(answers, fc.integer({ min: 0, max: 10 * minuteMs }), (answers, laterMs) => {
      let throttle = unthrottled;
      let nowMs = 1_700_000_000_000;
      for (const { afterMs, tookMs, pauseMs } of answers) {
        nowMs += afterMs;
        const before = throttle;
        const usedBefore = used(before, nowMs);
        throttle = throttleMore(before, { sentAtMs: nowMs - tookMs, nowMs, pauseMs });
        expect(throttle.pausedUntilMs).toBe(Math.max(before.pausedUntilMs, nowMs + pauseMs));
        const isOfAnEarlierBurst = nowMs - tookMs < before.cutAtMs;
        const expected = isOfAnEarlierBurst ? usedBefore : Math.max(100, usedBefore / 2);
        expect(Math.abs(used(throttle, nowMs) - expected)).toBeLessThanOrEqual(1);
      }
      const later = used(throttle, nowMs + laterMs);
      expect(later).toBeGreaterThanOrEqual(used(throttle, nowMs));
      expect(later).toBeLessThanOrEqual(Math.min(1000, used(throttle, nowMs) + (laterMs * 100) / minuteMs + 1));
      expect(throttledWindows(throttle, thousand, nowMs + 9 * minuteMs)).toEqual(thousand);
    }),
  );
});

test('however small a window is, one request remains', () => {
  const windows = [{ requests: 1, perSeconds: 60 }];
  const throttle = throttleMore(unthrottled, { sentAtMs: 1000, nowMs: 1000, pauseMs: 0 });
  expect(throttledWindows(throttle, windows, 1000)).toEqual(windows);
});

test('a clock that is set back makes nobody wait for longer than was asked', () => {
  const throttle = throttleMore(unthrottled, { sentAtMs: 5_000_000, nowMs: 5_000_000, pauseMs: 3000 });
  expect(throttleAt(throttle, 1_000_000)).toEqual({ cutAtMs: 1_000_000, share: 0.5, pausedUntilMs: 1_003_000 });
  expect(throttleAt(throttle, 5_001_000)).toBe(throttle);
});
