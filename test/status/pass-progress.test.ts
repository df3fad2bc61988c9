import { expect, test } from 'vitest';
import type { BudgetWindow } from '../../src/status/overview.ts';
import { progressOf, progressText } from '../../src/status/pass-progress.ts';
import { wholePass } from './worlds.ts';

const now = '2026-11-20T12:00:20.000Z';
/** A third of the rows in 20 pages and 20 seconds: 40 more pages. */
const third = {
  ...wholePass,
  startedAt: '2026-11-20T12:00:00.000Z',
  rowsDistinct: 2000,
  countReported: 6000,
  windows: 20,
};

const leftWith = (windows: BudgetWindow[], dataset: 'persons' | 'recordings' = 'persons'): number | null =>
  progressOf({ ...third, dataset }, windows, now).leftMs;
const window = (requests: number, perSeconds: number, used: number, lane: BudgetWindow['lane'] = 'general') => ({
  lane,
  requests,
  perSeconds,
  used,
});

test('the end of a pass is told by its pace, or by the budget where that is slower', () => {
  expect(leftWith([])).toBe(40_000);
  expect(leftWith([window(240, 60, 20), window(1200, 3600, 20)])).toBe(40_000);
  // Used up: the 40 pages wait for two windows.
  expect(leftWith([window(20, 3600, 20)])).toBe(2 * 3_600_000);
  expect(leftWith([window(30, 3600, 20)])).toBe(3_600_000);
  const slow = window(20, 3600, 20, 'recordings list');
  expect(leftWith([slow])).toBe(40_000);
  expect(leftWith([slow], 'recordings')).toBe(2 * 3_600_000);
});

test('without a count there is no end to tell', () => {
  const progress = progressOf({ ...third, countReported: null }, [], now);
  expect(progress).toEqual({ rows: 2000, total: null, leftMs: null });
  expect(progressText(progress, 'persons')).toBe('2,000 persons so far');
  expect(progressText(progressOf({ ...third, rowsDistinct: 0 }, [], now), 'rows')).toBe('0 of about 6,000 rows');
});
