import { countText, durationText } from '../core/words.ts';
import type { PassReport } from '../sync/pass-report.ts';

/** How far a pass under way is. `total` and `leftMs` are null where the service gives no count, or nothing was seen yet. */
export type PassProgress = { rows: number; total: number | null; leftMs: number | null };

/** How far a pass is at a time (ISO 8601 UTC), and how many milliseconds it takes to its end at the pace up to now. */
export function progressOf(
  { rowsDistinct: rows, countReported: total, startedAt }: PassReport,
  now: string,
): PassProgress {
  if (total === null || rows === 0) return { rows, total, leftMs: null };
  const tookMs = Date.parse(now) - Date.parse(startedAt);
  return { rows, total, leftMs: (tookMs * Math.max(0, total - rows)) / rows };
}

/** Progress in words, as `2,126 of about 5,000 persons, 40 s left`. */
export function progressText({ rows, total, leftMs }: PassProgress, noun: string): string {
  if (total === null) return `${countText(rows)} ${noun} so far`;
  const left = leftMs === null ? '' : `, ${durationText(Math.ceil(leftMs / 1000) * 1000)} left`;
  return `${countText(rows)} of about ${countText(total)} ${noun}${left}`;
}
