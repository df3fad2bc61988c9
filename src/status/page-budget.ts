import { html } from 'hono/html';
import type { BudgetWindow, ProjectContent } from './overview.ts';
import { axisEnd, type Markup } from '../markup/markup.ts';
import { meter } from './page-parts.ts';
import { countText } from '../core/words.ts';

const plot = { width: 600, height: 100 };
const minuteWidth = plot.width / 60;

/** The requests of the last hour by minute, and how much of each limit is used. Without a limit none are counted. */
export function budgetChart({ minutes: { general, recordings }, windows }: ProjectContent): Markup {
  if (windows.length === 0)
    return html`<p class="soft">No limit is set (<code>budget.windows</code>), so requests are not counted.</p>`;
  const totals = general.map((count, index) => count + (recordings[index] ?? 0));
  const sum = totals.reduce((all, count) => all + count, 0);
  const limit = windows.find(({ lane, perSeconds }) => lane === 'general' && perSeconds === 60)?.requests;
  const most = Math.max(1, ...totals);
  // A limit far above the use would flatten the bars.
  const isLimitShown = limit !== undefined && limit <= most * 4;
  const end = axisEnd(Math.max(most, isLimitShown ? limit : 0), 2);
  const heightOf = (count: number): number => (count / end) * plot.height;
  return html`<div class="card">
    <figure class="chart">
      <div class="y" aria-hidden="true">
        <span>${countText(end)}</span><span>${countText(end / 2)}</span><span>0</span>
      </div>
      <svg
        viewBox="0 0 ${plot.width} ${plot.height}"
        preserveAspectRatio="none"
        role="img"
        aria-label="${countText(sum)} requests in the last hour, at most ${countText(Math.max(...totals))} in a minute"
        focusable="false"
      >
        ${[0, 50, 100].map((y) => html`<line class="grid" x1="0" x2="${plot.width}" y1="${y}" y2="${y}" />`)}
        ${totals.map((total, index) => {
          const x = (index * minuteWidth + 1).toFixed(1);
          const width = minuteWidth - 2;
          const lower = heightOf(general[index] ?? 0);
          const upper = heightOf(recordings[index] ?? 0);
          return total === 0
            ? ''
            : html`<rect
                  class="f-s0"
                  x="${x}"
                  y="${(plot.height - lower).toFixed(1)}"
                  width="${width}"
                  height="${lower.toFixed(1)}"
                />
                <rect
                  class="f-s1"
                  x="${x}"
                  y="${(plot.height - lower - upper).toFixed(1)}"
                  width="${width}"
                  height="${upper.toFixed(1)}"
                />`;
        })}
        ${
          isLimitShown
            ? html`<line
                class="limit"
                x1="0"
                x2="${plot.width}"
                y1="${plot.height - heightOf(limit)}"
                y2="${plot.height - heightOf(limit)}"
              />`
            : ''
        }
      </svg>
      <div class="x" aria-hidden="true"><span>an hour ago</span><span>30 min</span><span>now</span></div>
    </figure>
    <ul class="legend" aria-hidden="true">
      <li>${swatch('s0')} requests a minute</li>
      ${recordings.some((count) => count > 0) ? html`<li>${swatch('s1')} of them for the list of recordings</li>` : ''}
      ${isLimitShown ? html`<li>${swatch('broken')} limit</li>` : ''}
    </ul>
    <ul class="limits">
      ${windows.map((window) => html`<li>${windowUse(window)}</li>`)}
    </ul>
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

function swatch(tone: string): Markup {
  return html`<svg viewBox="0 0 12 14" focusable="false">
    <rect class="f-${tone}" y="1" width="12" height="12" />
  </svg>`;
}
