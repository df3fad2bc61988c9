import { html } from 'hono/html';
import { mirroredDatasets } from '../contract/datasets.ts';
import { countText } from '../core/words.ts';
import { drawChart, legend, type Chart, type Series } from '../markup/chart.ts';
import { table, type Markup } from '../markup/markup.ts';
import type { History } from '../mirror/history.ts';

const weekDays = 7;
const sumHeadings = ['New', 'Changed', 'Gone', 'Requests received', 'Complete'];

/** The days of a mirror as charts: rows of each list, rows that changed, erasure requests. A table has them by week. */
export function historyCharts({ days, series }: History): Markup {
  if (Object.values(series).every((values) => values.every((value) => value === null || value === 0)))
    return html`<p class="soft">No row has changed yet, and nothing was asked for.</p>`;
  const labelEvery = days.length > 4 * weekDays ? 4 * weekDays : weekDays;
  const categories = days.map((day, index) => ((days.length - 1 - index) % labelEvery === 0 ? dayText(day) : ''));
  const lists = mirroredDatasets.filter((dataset) => series[dataset].some((value) => value !== null));
  const count = (name: string, values: readonly (number | null)[]): string =>
    `${name} ${countText(values.reduce<number>((sum, value) => sum + (value ?? 0), 0))}`;
  const counted = (title: string, marks: Chart['marks'], all: Series[]): Markup | string =>
    all.every(({ values }) => values.every((value) => value === null || value === 0))
      ? ''
      : card(title, all, {
          label: `${title} in ${days.length} days: ${all.map(({ name, values }) => count(name, values)).join(', ')}`,
          marks,
          series: all,
          categories,
        });
  const sums = [series.new, series.changed, series.gone, series.received, series.complete].map(
    (values) => (end: number) =>
      values.slice(Math.max(0, end - weekDays + 1), end + 1).reduce<number>((sum, value) => sum + (value ?? 0), 0),
  );
  const columns: [heading: string, cellOf: (end: number) => string | number][] = [
    ['7 days to', (end) => dayText(days[end] ?? '')],
    ...lists.map((dataset): (typeof columns)[number] => [`Rows of ${dataset}`, (end) => series[dataset][end] ?? '']),
    ...sums.map((sumOf, index): (typeof columns)[number] => [sumHeadings[index] ?? '', sumOf]),
  ];
  return html`<div class="history">
      ${lists.map((dataset) => {
        const values = series[dataset];
        const first = values.find((value) => value !== null) ?? 0;
        return card(`Rows of ${dataset}`, [], {
          label: `Rows of ${dataset}: ${countText(first)} at first, ${countText(values.at(-1) ?? 0)} now`,
          marks: 'lines',
          series: [{ name: dataset, tone: 's0', values }],
          categories,
        });
      })}
      ${counted('Changed rows', 'stacked', [
        { name: 'new', tone: 's0', values: series.new },
        { name: 'changed', tone: 's1', values: series.changed },
        { name: 'gone', tone: 's2', values: series.gone },
      ])}
      ${counted('Erasure requests', 'beside', [
        { name: 'received', tone: 's1', values: series.received },
        { name: 'complete', tone: 's0', values: series.complete },
      ])}
    </div>
    <details class="more" id="history-table">
      <summary id="history-table-summary">The same by week, in numbers</summary>
      ${table(
        'Rows and requests by week',
        columns.map(([heading]) => heading),
        weekEnds(days).map((end) => columns.map(([, cellOf]) => cellOf(end))),
      )}
    </details>`;
}

function card(title: string, names: readonly Series[], chart: Chart): Markup {
  return html`<figure class="card">
    <figcaption>${title}</figcaption>
    ${drawChart(chart)} ${names.length === 0 ? '' : legend(names)}
  </figure>`;
}

/** The last day and every seventh before it, the newest first. */
function weekEnds(days: readonly string[]): number[] {
  return days.flatMap((_day, index) => (index % weekDays === 0 ? [days.length - 1 - index] : []));
}

/** `2026-11-22` as `22 Nov`. */
function dayText(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
}
