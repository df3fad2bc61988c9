import type { Database } from 'better-sqlite3';
import { mirroredDatasets } from '../contract/datasets.ts';

/** Rows of each list after its last pass of a day; rows that were new, changed or gone; erasure requests received and complete. */
export const historySeries = [...mirroredDatasets, 'new', 'changed', 'gone', 'received', 'complete'] as const;
type HistorySeries = (typeof historySeries)[number];

/** The last days, oldest first (UTC), and the number of each day. A list has no number before its first pass. */
export type History = { days: string[]; series: Record<HistorySeries, (number | null)[]> };

const dayMs = 86_400_000;
const daysMin = 14;
const daysMax = 90;

/** Reads the history, from the first day of which there is any, within the bounds. */
export function readHistory(db: Database, atMs: number): History {
  const dayBefore = (days: number): string => new Date(atMs - days * dayMs).toISOString().slice(0, 10);
  const select = db.prepare<[string], { day: string; series: HistorySeries; value: number }>(
    /*sql*/ `SELECT day, series, value FROM history WHERE day >= ? ORDER BY day`,
  );
  const rows = select.all(dayBefore(daysMax - 1));
  const values = new Map(rows.map(({ day, series, value }) => [`${day} ${series}`, value]));
  const all = Array.from({ length: daysMax }, (_day, index) => dayBefore(daysMax - 1 - index));
  const first = rows[0] ? all.indexOf(rows[0].day) : daysMax;
  const days = all.slice(Math.min(daysMax - daysMin, first));
  const seriesOf = (series: HistorySeries): (number | null)[] => {
    const isList = mirroredDatasets.some((dataset) => dataset === series);
    let last: number | null = isList ? null : 0;
    return days.map((day) => {
      const value = values.get(`${day} ${series}`);
      if (isList) return (last = value ?? last);
      return value ?? 0;
    });
  };
  return {
    days,
    series: Object.fromEntries(historySeries.map((series) => [series, seriesOf(series)])) as History['series'],
  };
}
