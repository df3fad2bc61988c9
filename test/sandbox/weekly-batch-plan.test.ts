import { describe, expect, it } from 'vitest';
import { planWeeklyBatches } from '../../src/sandbox/weekly-batch-plan.ts';

const at = (iso: string): number => Date.parse(iso);

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
