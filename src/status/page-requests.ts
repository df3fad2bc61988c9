import { html } from 'hono/html';
import type { RequestState } from '../ledger/vocabulary.ts';
import { stateCounts, stateText } from '../ledger/vocabulary-words.ts';
import { nextBatchAfter } from '../contract/weekly-batch.ts';
import { waitingFor } from './alert-words.ts';
import type { OpenRequest, ProjectContent } from './overview.ts';
import { listedAgainTexts } from './listed-again.ts';
import type { Markup } from '../markup/markup.ts';
import { badge, code, figures, meter, when, withCode, type Mark } from './page-parts.ts';
import { isDatedAhead } from '../core/present.ts';
import { isOverdue } from '../mirror/erasure-requests.ts';
import { countText, countedText, durationText, minuteText } from '../core/words.ts';

const stateMarks: Readonly<Record<RequestState, Mark>> = {
  received: 'new',
  scoped: 'new',
  held: 'attention',
  fenced: 'new',
  executing: 'new',
  locally_verified: 'new',
  awaiting_upstream: 'new',
  attention: 'attention',
  certified: 'well',
  sealed: 'well',
  refused: 'plain',
  cancelled: 'plain',
};

/** Erasure requests of a project by state, their due dates, the most urgent of them, and the newest certificates. `now` is ISO 8601 UTC. */
export function requestsPart(content: ProjectContent, project: string, now: string): Markup {
  const { states, open, overdue, nextDueAt, fence } = content.erasure;
  const counts = stateCounts(states);
  const forAccess = accessLine(content.erasure.access, now);
  if (counts.length === 0)
    return html`<p class="soft">There has been no erasure request yet.</p>
      ${forAccess}`;
  const nextBatch = new Date(nextBatchAfter(Date.parse(now))).toISOString();
  const unlisted = open - content.openRequests.length;
  return html`<div class="cards">
      <div class="card">${figures(counts)}</div>
      <div class="card">
        ${figures([
          ['The service’s next weekly batch', html`${when(nextBatch, now)}`],
          overdue > 0
            ? ['Overdue', html`<span class="t-broken">${countText(overdue)}</span>`]
            : ['First due date', nextDueAt === null ? 'none open' : when(nextDueAt, now)],
          ['Rows of erased people kept out', countText(fence.hits)],
        ])}
        ${listedAgainTexts(content.erasure.listedAgain).map((text) => html`<p>${withCode(text)}</p>`)}
        <p class="small">The batch begins on Sundays at 05:00 UTC: ${minuteText(nextBatch)}.</p>
      </div>
    </div>
    ${forAccess}
    ${
      content.openRequests.length === 0
        ? ''
        : html`<ul class="rows requests">
            ${content.openRequests.map((request) => html`<li class="row">${requestRow(request, now)}</li>`)}
            ${
              unlisted > 0
                ? html`<li class="foot small">
                    and ${countedText(unlisted, 'request')} more, less urgent: ${code('analytics-mirror erase list')}
                  </li>`
                : ''
            }
          </ul>`
    }
    ${content.certified.length === 0 ? '' : certificates(content.certified, project, now)}`;
}

/** How many requests for access are open, and the command that shows them; nothing where none is. */
function accessLine({ open, overdue, nextDueAt }: ProjectContent['erasure']['access'], now: string): Markup {
  if (open === 0) return html``;
  const due = overdue > 0 ? html`<b>${countText(overdue)} overdue</b>` : html`first due ${when(nextDueAt ?? now, now)}`;
  return html`<p>
    ${countedText(open, 'request for access is', 'requests for access are')} open, ${due}:
    ${code('analytics-mirror access list')}
  </p>`;
}

/** The newest requests that have ended, each with a link to its certificate. */
function certificates(certified: ProjectContent['certified'], project: string, now: string): Markup {
  return html`<details class="more" id="certificates">
    <summary id="certificates-summary">The newest ${countedText(certified.length, 'certificate')}</summary>
    <ul class="rows requests">
      ${certified.map(({ id, receivedAt, certifiedAt }) => {
        const path = `/certificate/${encodeURIComponent(project)}/${id}`;
        return html`<li class="row">
          <code>${id.slice(0, 8)}</code>
          <div>
            <a href="${path}">certificate</a>
            <p class="small">as a page: ${code(`analytics-mirror audit certificate ${id.slice(0, 8)}`)}</p>
          </div>
          <div>
            ended ${when(certifiedAt, now)}
            <p class="small">after ${durationText(Date.parse(certifiedAt) - Date.parse(receivedAt))}</p>
          </div>
        </li>`;
      })}
    </ul>
  </details>`;
}

function requestRow(request: OpenRequest, now: string): Markup {
  const { id, state, receivedAt, dueAt } = request;
  const waits = waitingFor(request).join(', ');
  const lengthMs = Date.parse(dueAt) - Date.parse(receivedAt);
  const share = (Date.parse(now) - Date.parse(receivedAt)) / Math.max(1, lengthMs);
  const isAhead = isDatedAhead(Date.parse(receivedAt), Date.parse(now));
  const isLate = isOverdue({ receivedAt, dueAt }, now);
  return html`<code>${id.slice(0, 8)}</code>
    <div>${badge(stateMarks[state], stateText(state))} ${waits === '' ? '' : html`<p class="small">${waits}</p>`}</div>
    <div>
      <span class="${isLate ? 't-broken' : ''}"
        >${isAhead ? html`overdue, as its receipt is dated ${minuteText(receivedAt)}` : html`${isLate ? 'was due' : 'due'} ${when(dueAt, now)}`}</span
      >
      ${isAhead ? '' : meter(share, isLate ? 'broken' : share > 0.75 ? 'attention' : 'new', `${Math.round(share * 100)} % of its time has passed`)}
    </div>`;
}
