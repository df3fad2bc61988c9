import fc from 'fast-check';
import { expect, it } from 'vitest';
import { distributionOf, progressOf, spreadOf } from '../../src/audit/statistics.ts';

const durations = fc.array(fc.nat({ max: 100 * 86_400_000 }), { maxLength: 40 });

it('half of all durations are no longer than the median, and half no shorter', () => {
  fc.assert(
    fc.property(durations, (ms) => {
      const { count, medianMs, worstMs } = spreadOf(ms);
      expect(count).toBe(ms.length);
      expect(medianMs === null).toBe(ms.length === 0);
      if (medianMs === null) return;
      expect(ms.filter((each) => each <= medianMs).length * 2).toBeGreaterThanOrEqual(ms.length);
      expect(ms.filter((each) => each >= medianMs).length * 2).toBeGreaterThanOrEqual(ms.length);
      expect(worstMs).toBe(Math.max(...ms));
      expect(spreadOf(ms.toReversed())).toEqual({ count, medianMs, worstMs });
    }),
  );
});

it('the median of an even number lies between the two in the middle', () => {
  expect(spreadOf([40, 10, 20, 30])).toEqual({ count: 4, medianMs: 25, worstMs: 40 });
  expect(spreadOf([])).toEqual({ count: 0, medianMs: null, worstMs: null });
});

it('a distribution counts each duration once', () => {
  fc.assert(
    fc.property(durations, (ms) => {
      expect(distributionOf(ms).reduce((sum, { count }) => sum + count, 0)).toBe(ms.length);
    }),
  );
  const hour = 3_600_000;
  const counts = distributionOf([0, hour, hour + 1, 31 * 24 * hour]).map(({ count }) => count);
  expect(counts).toEqual([2, 1, 0, 0, 0, 0, 0, 1]);
});

const day = fc
  .integer({ min: Date.UTC(2020, 0, 1) / 86_400_000, max: Date.UTC(2030, 0, 1) / 86_400_000 })
  .map((days) => new Date(days * 86_400_000).toISOString());

it('at the end of a period, every request received in it is somewhere', () => {
  fc.assert(
    fc.property(day, fc.nat({ max: 3000 }), fc.array(fc.nat({ max: 1000 })), (start, days, shares) => {
      const startMs = Date.parse(start);
      const at = (share: number): string =>
        new Date(startMs + Math.floor((share / 1001) * (days + 1) * 86_400_000)).toISOString();
      const to = new Date(startMs + days * 86_400_000).toISOString().slice(0, 10);
      const requests = shares.map((share, index) => ({
        receivedAt: at(share),
        verifiedAt: index % 2 === 0 ? at(share) : null,
        completedAt: index % 4 === 0 ? at(share) : null,
        endedAt: index % 7 === 3 ? at(share) : null,
      }));
      const { each, points } = progressOf(requests, { from: start.slice(0, 10), to });
      const sums = points.map(
        ({ notErased, erasedHere, complete, ended }) => notErased + erasedHere + complete + ended,
      );
      expect(sums).toEqual(sums.toSorted((a, b) => a - b));
      expect(sums.at(-1)).toBe(shares.length);
      expect(points.length).toBeGreaterThan(0);
      if (each !== 'year') expect(points.length).toBeLessThanOrEqual(26);
    }),
  );
});
