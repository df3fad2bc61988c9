import { describe, expect, it } from 'vitest';
import { nextBatchAfter } from '../../src/contract/weekly-batch.ts';

const at = (iso: string): number => Date.parse(iso);

describe('nextBatchAfter', () => {
  it('is a Sunday, 05:00 UTC, at most a week ahead, from every hour of ten weeks across two years', () => {
    const start = at('2024-12-01T00:00:00Z');
    for (let hour = 0; hour < 10 * 7 * 24; hour += 1) {
      const timeMs = start + hour * 3_600_000;
      const batch = new Date(nextBatchAfter(timeMs));
      expect([batch.getUTCDay(), batch.toISOString().slice(11)]).toEqual([0, '05:00:00.000Z']);
      expect(batch.getTime()).toBeGreaterThan(timeMs);
      expect(batch.getTime() - timeMs).toBeLessThanOrEqual(7 * 86_400_000);
    }
  });

  it.each([
    ['2025-03-30T04:59:59.999Z', '2025-03-30T05:00:00.000Z'],
    ['2025-03-30T05:00:00.000Z', '2025-04-06T05:00:00.000Z'],
    ['2025-03-30T05:00:00.001Z', '2025-04-06T05:00:00.000Z'],
    ['1970-01-01T00:00:00.000Z', '1970-01-04T05:00:00.000Z'],
    ['1969-12-30T00:00:00.000Z', '1970-01-04T05:00:00.000Z'],
    ['1969-12-28T04:00:00.000Z', '1969-12-28T05:00:00.000Z'],
    ['2024-02-29T12:00:00.000Z', '2024-03-03T05:00:00.000Z'],
  ])('after %s is %s', (time, batch) => {
    expect(new Date(nextBatchAfter(at(time))).toISOString()).toBe(batch);
  });
});
