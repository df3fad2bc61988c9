import { describe, expect, it } from 'vitest';
import { nextBatchAfter, planWeeklyBatches } from '../../src/sandbox/weekly-batch-plan.ts';

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

describe('planWeeklyBatches', () => {
  const friday = { id: 1, requestedAtMs: at('2025-01-03T12:00:00Z') };
  const saturday = { id: 2, requestedAtMs: at('2025-01-04T12:00:00Z') };
  const nextWeek = { id: 3, requestedAtMs: at('2025-01-05T05:00:00Z') };

  it('leaves everything queued until the Sunday, and takes it at 05:00 sharp', () => {
    expect(planWeeklyBatches([friday, saturday], at('2025-01-05T04:59:59.999Z'))).toEqual([]);
    expect(planWeeklyBatches([friday, saturday], at('2025-01-05T05:00:00Z'))).toEqual([
      { atMs: at('2025-01-05T05:00:00Z'), taskIds: [1, 2] },
    ]);
  });

  it('puts a task queued at 05:00 sharp into the next batch', () => {
    expect(planWeeklyBatches([nextWeek], at('2025-01-12T04:59:59Z'))).toEqual([]);
    expect(planWeeklyBatches([nextWeek], at('2025-01-12T05:00:00Z'))).toHaveLength(1);
  });

  it('runs every missed batch once, oldest first, whatever the order of the tasks', () => {
    expect(planWeeklyBatches([nextWeek, saturday, friday], at('2026-01-01T00:00:00Z'))).toEqual([
      { atMs: at('2025-01-05T05:00:00Z'), taskIds: [2, 1] },
      { atMs: at('2025-01-12T05:00:00Z'), taskIds: [3] },
    ]);
  });

  it('has nothing to run where nothing is queued', () => {
    expect(planWeeklyBatches([], at('9999-01-01T00:00:00Z'))).toEqual([]);
  });
});
