import { countText, durationText } from '../core/words.ts';
import type { PassReport } from '../sync/pass-report.ts';
import type { BudgetWindow } from './overview.ts';

/** How far a pass under way is. `total` and `leftMs` are null where the service gives no count, or nothing was seen yet. */
export type PassProgress = { rows: number; total: number | null; leftMs: number | null };

/**
 * How far a pass is at a time (ISO 8601 UTC), and how many milliseconds it takes to its end: at the pace up to now, or longer where
 * the windows of the budget let its requests pass more slowly.
 */
export function progressOf(pass: PassReport, windows: readonly BudgetWindow[], now: string): PassProgress {
  const { dataset, rowsDistinct: rows, countReported: total, startedAt, windows: pages } = pass;
  if (total === null || rows === 0) return { rows, total, leftMs: null };
  const timesAsMany = Math.max(0, total - rows) / rows;
  const paceMs = (Date.parse(now) - Date.parse(startedAt)) * timesAsMany;
  const own = windows.filter(({ lane }) => lane === 'general' || dataset === 'recordings');
  return { rows, total, leftMs: Math.max(paceMs, ...own.map((window) => waitMs(window, pages * timesAsMany))) };
}

/** How long a window makes so many requests wait: what is free now goes at once, the rest a window at a time. */
function waitMs({ requests, perSeconds, used }: BudgetWindow, wanted: number): number {
  const later = Math.max(0, wanted - Math.max(0, requests - used));
  return Math.ceil(later / requests) * perSeconds * 1000;
}

/** Progress in words, as `2,126 of about 5,000 persons, 40 s left`. */
export function progressText({ rows, total, leftMs }: PassProgress, noun: string): string {
  if (total === null) return `${countText(rows)} ${noun} so far`;
  const left = leftMs === null ? '' : `, ${durationText(Math.ceil(leftMs / 1000) * 1000)} left`;
  return `${countText(rows)} of about ${countText(total)} ${noun}${left}`;
}
