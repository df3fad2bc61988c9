import { html } from 'hono/html';
import type { RequestState } from '../ledger/vocabulary.ts';
import { nextBatchAfter } from '../contract/weekly-batch.ts';
import type { OpenRequest, ProjectContent } from './overview.ts';
import { openCount } from './page-freshness.ts';
import type { Markup } from '../markup/markup.ts';
import { badge, figures, meter, when, type Mark } from './page-parts.ts';
import { codeText, countText, countedText, minuteText } from '../core/words.ts';

const stateWords: Readonly<Record<RequestState, { text: string; mark: Mark }>> = {
  received: { text: 'received', mark: 'new' },
  scoped: { text: 'found, not begun', mark: 'new' },
  held: { text: 'held for approval', mark: 'attention' },
  fenced: { text: 'begun', mark: 'new' },
  executing: { text: 'begun', mark: 'new' },
  locally_verified: { text: 'erased here', mark: 'new' },
  awaiting_upstream: { text: 'erased here, waits for the service', mark: 'new' },
  attention: { text: 'needs a person', mark: 'attention' },
  certified: { text: 'complete', mark: 'well' },
  sealed: { text: 'ended and sealed', mark: 'well' },
  refused: { text: 'refused', mark: 'plain' },
  cancelled: { text: 'cancelled', mark: 'plain' },
};

/** Requests by state with their clocks, and the most urgent ones; `now` is ISO 8601 UTC. */
export function requestsPart(content: ProjectContent, now: string): Markup {
  const { states, overdue, nextDueAt, fence } = content.erasure;
  const counted = Object.entries(states) as [RequestState, number][];
  if (counted.length === 0)
    return html`<p class="soft">Nobody has been erased, and nobody has asked to be.</p>`;
  const byText = Map.groupBy(counted, ([state]) => stateWords[state].text);
  const nextBatch = new Date(nextBatchAfter(Date.parse(now))).toISOString();
  const open = openCount(content);
  const unlisted = open - content.openRequests.length;
  return html`<div class="cards">
      <div class="card">
        ${figures([...byText].map(([text, group]) => [text, countText(group.reduce((sum, [, count]) => sum + count, 0))]))}
      </div>
      <div class="card">
        ${figures([
          ['The service’s next weekly batch', html`${when(nextBatch, now)}`],
          overdue > 0
            ? ['Past their due date', html`<span class="t-broken">${countText(overdue)}</span>`]
            : ['First due date', nextDueAt === null ? 'none open' : when(nextDueAt, now)],
          ['Erased rows kept out', countText(fence.hits)],
        ])}
        <p class="small">The batch begins on Sundays at 05:00 UTC: ${minuteText(nextBatch)}.</p>
      </div>
    </div>
    ${
      content.openRequests.length === 0
        ? ''
        : html`<ul class="rows requests">
            ${content.openRequests.map((request) => html`<li class="row">${requestRow(request, now)}</li>`)}
            ${
              unlisted > 0
                ? html`<li class="foot small">
                    and ${countedText(unlisted, 'request')} more, less urgent:
                    <code>analytics-mirror erase list</code>
                  </li>`
                : ''
            }
          </ul>`
    }`;
}

function requestRow(
  { id, state, reasons, receivedAt, dueAt, eventsExpectedBy }: OpenRequest,
  now: string,
): Markup {
  const { text, mark } = stateWords[state];
  const lengthMs = Date.parse(dueAt) - Date.parse(receivedAt);
  const share = (Date.parse(now) - Date.parse(receivedAt)) / Math.max(1, lengthMs);
  const isOverdue = dueAt < now;
  return html`<code>${id.slice(0, 8)}</code>
    <div>
      ${badge(mark, text)}
      ${
        reasons.length === 0 && eventsExpectedBy === null
          ? ''
          : html`<p class="small">
              ${[...reasons.map(codeText), ...(eventsExpectedBy === null ? [] : [`events gone by ${minuteText(eventsExpectedBy)}`])].join(', ')}
            </p>`
      }
    </div>
    <div>
      <span class="${isOverdue ? 't-broken' : ''}">${isOverdue ? 'was due' : 'due'} ${when(dueAt, now)}</span>
      ${meter(share, isOverdue ? 'broken' : share > 0.75 ? 'attention' : 'new', `${Math.round(share * 100)} % of its time is gone`)}
    </div>`;
}
