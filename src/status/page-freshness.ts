import { html } from 'hono/html';
import type { Whereabouts } from '../job/worker-state.ts';
import type { ListFreshness, ProjectContent, ProjectOverview } from './overview.ts';
import type { Markup } from '../markup/markup.ts';
import { badge, code, meter, when, nextText, remarkText, withCode, type Mark } from './page-parts.ts';
import { progressOf, progressText, type PassProgress } from './pass-progress.ts';
import { defaultWindow } from '../sync/pass-report.ts';
import { agoText, countText, countedText, durationText } from '../core/words.ts';

const stateMarks: Readonly<Record<ListFreshness['state'], Mark>> = {
  fresh: 'well',
  stale: 'attention',
  incomplete: 'attention',
  never: 'new',
};

/** The freshness of each list, and how close it is to being stale. */
export function freshnessCards(content: ProjectContent, now: string): Markup {
  const { lists } = content;
  if (lists.length === 0) return html`<p class="soft">No list is mirrored yet, and no job is scheduled.</p>`;
  return html`<ul class="cards">
    ${lists.map((list) => html`<li class="card">${card(list, content, now)}</li>`)}
  </ul>`;
}

function card(
  { dataset, rows, completeAsOf, lookedAt, limitMs, state }: ListFreshness,
  { held, passes, windows }: ProjectContent,
  now: string,
): Markup {
  const first =
    completeAsOf === null ? passes.find((pass) => pass.dataset === dataset && pass.verdict === 'running') : undefined;
  const ageMs = completeAsOf === null ? null : Date.parse(now) - Date.parse(completeAsOf);
  const used = ageMs !== null && ageMs >= 0 && limitMs !== null ? ageMs / limitMs : undefined;
  return html`<p class="name">${dataset} ${badge(stateMarks[state], state === 'never' ? 'not yet' : state)}</p>
    <p class="big">${countText(rows)} <small>rows</small></p>
    ${
      used === undefined
        ? ''
        : meter(used, stateMarks[state], `${Math.round(used * 100)} % of the time until it is stale has passed`)
    }
    ${first === undefined ? '' : firstPass(progressOf(first, windows, now))}
    <p class="small">
      ${
        completeAsOf === null ? 'no pass has been complete yet' : html`complete as of <b>${when(completeAsOf, now)}</b>`
      }${limitMs === null ? '' : `, ${`stale after ${durationText(limitMs)}`.replaceAll(' ', '\u00a0')}`}
    </p>
    <p class="small">${lookedAt === null ? '' : html`last looked at ${when(lookedAt, now)}`}</p>
    ${
      dataset === 'recordings' && passes.some((pass) => pass.dataset === dataset && pass.assumptions.defaultWindow)
        ? html`<p class="small held">
            ${badge('attention', 'perhaps not all')} ${withCode(remarkText(defaultWindow))}
          </p>`
        : ''
    }
    ${held
      .filter((held) => held.dataset === dataset)
      .map(
        ({ plan, rows: heldRows, heldAt, keys }) =>
          html`<p class="small held">
              ${badge('attention', `${countedText(heldRows, 'deletion')} held`)} since ${when(heldAt, now)}:
              ${code(`analytics-mirror reconcile --approve ${plan}`)}
            </p>
            ${
              keys.length === 0
                ? ''
                : html`<details class="small" id="held-${plan}">
                    <summary id="held-${plan}-summary">Which rows</summary>
                    <ul>
                      ${keys.map((key) => html`<li><code>${key}</code></li>`)}
                    </ul>
                    ${heldRows > keys.length ? html`<p>and ${countedText(heldRows - keys.length, 'row')} more: ${code('analytics-mirror reconcile --dry-run')}</p>` : ''}
                  </details>`
            }`,
      )}`;
}

/** How far the first pass over a list is. */
function firstPass(progress: PassProgress): Markup {
  const { rows, total } = progress;
  const text = `First pass: ${progressText(progress, 'rows')}`;
  return html`${total === null ? '' : meter(rows / Math.max(1, total), 'new', text)}
    <p class="small"><b>${text}</b></p>`;
}

/** Which machine of a cluster has a project, and how old that news is. */
export function placeOf({ machine, at, isPaused }: Whereabouts, now: string): Markup {
  const told = at === null ? '' : html`, as of ${when(at, now)}`;
  return isPaused
    ? html`Paused by an operator${told}.`
    : html`${machine === null ? 'On no machine' : html`On <b>${machine}</b>`}${told}.`;
}

/** A summary in one line: fresh lists, running and next jobs, open erasure requests. */
export function summaryOf({ jobs, content, cluster }: ProjectOverview, now: string): Markup {
  const running = jobs.filter(({ runningSince }) => runningSince !== null).map(({ job }) => job);
  const [next] = jobs
    .filter(({ runningSince }) => runningSince === null)
    .toSorted((a, b) => (a.nextAt < b.nextAt ? -1 : 1));
  const upcoming = next === undefined ? '' : html`Next: <b>${next.job}</b> ${nextText(next.nextAt, now)}.`;
  if (cluster && !cluster.isHere) return html`${placeOf(cluster, now)} ${upcoming}`;
  if (!content) return html`There is no mirror yet. ${upcoming}`;
  const fresh = content.lists.filter(({ state }) => state === 'fresh');
  const { open, overdue, nextDueAt } = content.erasure;
  return html`<b>${fresh.length} of ${countedText(content.lists.length, 'list')}</b> fresh.
    ${running.length === 0 ? '' : html`Running now: <b>${running.join(', ')}</b>.`} ${upcoming}
    ${
      open === 0
        ? 'No erasure request is open.'
        : html`<b>${countedText(open, 'erasure request')}</b>
            open${overdue > 0 ? html`, <b>${countText(overdue)} overdue</b>` : nextDueAt === null ? '' : `, first due ${agoText(nextDueAt, now)}`}.`
    }`;
}
