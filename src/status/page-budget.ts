import { html } from 'hono/html';
import { learntText, pauseText } from '../client/budget-standing.ts';
import type { BudgetWindow, ProjectContent } from './overview.ts';
import { drawChart, layOut, legend, swatch, type Chart, type Series } from '../markup/chart.ts';
import type { Markup } from '../markup/markup.ts';
import { meter } from './page-parts.ts';
import { countText } from '../core/words.ts';

/** The requests of the last hour by minute, and how much of each limit is used. Without a limit none are counted. */
export function budgetChart({ minutes: { general, recordings }, windows, budget }: ProjectContent): Markup {
  if (windows.length === 0)
    return html`<p class="soft">No limit is set (<code>budget.windows</code>), so requests are not counted.</p>`;
  // Without a limit of all requests, only those of the other lane are counted.
  const isOnlyList = windows.every(({ lane }) => lane === 'recordings list');
  const totals = isOnlyList ? recordings : general.map((count, index) => count + (recordings[index] ?? 0));
  const sum = totals.reduce((all, count) => all + count, 0);
  const limit = windows.find(({ lane, perSeconds }) => lane === 'general' && perSeconds === 60)?.requests;
  const series: Series[] = [
    ...(isOnlyList ? [] : [{ name: 'requests a minute', tone: 's0' as const, values: general }]),
    ...(isOnlyList || recordings.some((count) => count > 0)
      ? [
          {
            name: isOnlyList ? 'requests for the list of recordings a minute' : 'of them for the list of recordings',
            tone: 's1' as const,
            values: recordings,
          },
        ]
      : []),
  ];
  const chart: Chart = {
    label: `${countText(sum)} requests in the last hour, at most ${countText(Math.max(...totals))} in a minute`,
    marks: 'stacked',
    series,
    categories: totals.map((_total, index) => ageText(totals.length - 1 - index)),
    limit,
  };
  return html`<div class="card">
    <figure class="chart">${drawChart(chart)}</figure>
    ${legend(series, layOut(chart).limitY === null ? '' : html`<li>${swatch('broken')} limit</li>`)}
    <ul class="limits">
      ${windows.map((window) => html`<li>${windowUse(window)}</li>`)}
    </ul>
    ${
      isOnlyList
        ? html`<p class="small">
            All other requests have no limit (<code>budget.windows</code>), so they are not counted.
          </p>`
        : ''
    }
    ${[...pauseText(budget), ...learntText(budget)].map((text) => html`<p class="small">${text}</p>`)}
  </div>`;
}

function windowUse({ lane, requests, perSeconds, used }: BudgetWindow): Markup {
  const share = used / requests;
  const name = lane === 'general' ? 'All requests' : 'List of recordings';
  const text = `${countText(used)} of ${countText(requests)} in ${spanText(perSeconds)}`;
  return html`<p class="small">${name}: <b>${text}</b></p>
    ${meter(share, share >= 0.95 ? 'attention' : 'new', `${name}: ${text}`)}`;
}

function spanText(seconds: number): string {
  if (seconds === 60) return 'a minute';
  if (seconds === 3600) return 'an hour';
  return `${countText(seconds)} s`;
}

/** The label of a minute: every quarter of an hour. */
function ageText(minutes: number): string {
  if (minutes === 0) return 'now';
  return minutes % 15 === 0 ? `${minutes} min` : '';
}
