import { html } from 'hono/html';
import { learntText, pauseText } from '../client/budget-standing.ts';
import type { BudgetWindow, ProjectContent } from './overview.ts';
import type { Markup } from '../markup/markup.ts';
import { meter } from './page-parts.ts';
import { countText } from '../core/words.ts';

/** How much of each limit is used. Without a limit no request is counted. */
export function budgetUse({ windows, budget }: ProjectContent): Markup {
  if (windows.length === 0)
    return html`<p class="soft">No limit is set (<code>budget.windows</code>), so requests are not counted.</p>`;
  const isOnlyList = windows.every(({ lane }) => lane === 'recordings list');
  return html`<div class="card">
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
