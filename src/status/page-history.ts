import { html } from 'hono/html';
import { mirroredDatasets } from '../contract/datasets.ts';
import { table, type Markup } from '../markup/markup.ts';
import type { History } from '../mirror/history.ts';

const weekDays = 7;
const sumHeadings = ['New', 'Changed', 'Gone', 'Requests received', 'Complete'];

/** The days of a mirror by week: rows of each list, rows that changed, erasure requests. */
export function historyTable({ days, series }: History): Markup {
  if (Object.values(series).every((values) => values.every((value) => value === null || value === 0)))
    return html`<p class="soft">No row has changed yet, and nothing was asked for.</p>`;
  const lists = mirroredDatasets.filter((dataset) => series[dataset].some((value) => value !== null));
  const sums = [series.new, series.changed, series.gone, series.received, series.complete].map(
    (values) => (end: number) =>
      values.slice(Math.max(0, end - weekDays + 1), end + 1).reduce<number>((sum, value) => sum + (value ?? 0), 0),
  );
  const columns: [heading: string, cellOf: (end: number) => string | number][] = [
    ['7 days to', (end) => dayText(days[end] ?? '')],
    ...lists.map((dataset): (typeof columns)[number] => [`Rows of ${dataset}`, (end) => series[dataset][end] ?? '']),
    ...sums.map((sumOf, index): (typeof columns)[number] => [sumHeadings[index] ?? '', sumOf]),
  ];
  return table(
    'Rows and requests by week',
    columns.map(([heading]) => heading),
    weekEnds(days).map((end) => columns.map(([, cellOf]) => cellOf(end))),
  );
}

/** The last day and every seventh before it, the newest first. */
function weekEnds(days: readonly string[]): number[] {
  return days.flatMap((_day, index) => (index % weekDays === 0 ? [days.length - 1 - index] : []));
}

/** `2026-11-22` as `22 Nov`. */
function dayText(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
}
