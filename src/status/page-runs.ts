import { html } from 'hono/html';
import type { ProjectContent, RunGroup, RunReport } from './overview.ts';
import { table, type Markup } from '../markup/markup.ts';
import { badge, when, type Mark } from './page-parts.ts';
import { codeText, countText, countedText, durationText, minuteText } from '../core/words.ts';

type Outcome = RunReport['outcome'];

/** How each outcome is drawn: a colour, and a height (of 24) that tells it apart without colour. */
export const looks: Readonly<Record<Outcome, { mark: Mark; height: number }>> = {
  done: { mark: 'well', height: 10 },
  running: { mark: 'new', height: 4 },
  incomplete: { mark: 'attention', height: 17 },
  held: { mark: 'attention', height: 17 },
  interrupted: { mark: 'plain', height: 4 },
  failed: { mark: 'broken', height: 24 },
};

const dayMs = 86_400_000;
const lane = { width: 1440, height: 24 };
/** Narrower bars would not be seen on a phone. */
const widthMin = 6;

/** A bar in a lane: a minute is a unit, 0 is a day ago. */
export type RunBar = { x: number; width: number; runs: RunGroup };

/** The bar of each group of runs of the last day. */
export function layOutRuns(groups: readonly RunGroup[], now: string): RunBar[] {
  const nowMs = Date.parse(now);
  const place = (iso: string): number =>
    Math.min(lane.width, Math.max(0, ((Date.parse(iso) - nowMs + dayMs) / dayMs) * lane.width));
  return groups
    .filter(({ finishedAt }) => finishedAt === null || Date.parse(finishedAt) > nowMs - dayMs)
    .map((runs) => {
      const from = place(runs.startedAt);
      const width = Math.max(widthMin, place(runs.finishedAt ?? now) - from);
      return { x: Math.min(from, lane.width - width), width, runs };
    });
}

/** The runs of the last day: a lane for each job, and the newest of them as a list. */
export function runTimeline({ runs, runGroups }: ProjectContent, id: string, now: string): Markup {
  if (runGroups.length === 0) return html`<p class="soft">No job has run in the last 24 hours.</p>`;
  const lanes = [...Map.groupBy(layOutRuns(runGroups, now), ({ runs: { job } }) => job)].toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  );
  return html`<figure class="card">
      <div class="timeline">
        ${lanes.map(([job, bars]) => oneLane(job, bars, now))}
        <div class="hours" aria-hidden="true">
          ${[0, 3, 6, 9, 12, 15, 18, 21, 24].map(
            (hour) =>
              html`<span class="${hour % 12 === 0 ? '' : 'odd'}"
                >${hour === 24 ? 'now' : hourText(now, 24 - hour)}</span
              >`,
          )}
        </div>
      </div>
      ${legend([...new Set(runGroups.map(({ outcome }) => outcome))])}
    </figure>
    <details class="more" id="${id}-list">
      <summary id="${id}-list-summary">The last ${countedText(runs.length, 'run')}, with reasons</summary>
      ${runTable(runs, now)}
    </details>`;
}

function oneLane(job: string, bars: readonly RunBar[], now: string): Markup {
  const countOf = (some: readonly RunBar[]): number => some.reduce((sum, { runs }) => sum + runs.count, 0);
  const outcomes = Map.groupBy(bars, ({ runs }) => runs.outcome);
  const summary = [...outcomes].map(([outcome, some]) => `${countText(countOf(some))} ${outcome}`).join(', ');
  return html`<span class="lane">${job}</span>
    <svg
      viewBox="0 0 ${lane.width} ${lane.height}"
      preserveAspectRatio="none"
      role="img"
      aria-label="${job}: ${countedText(countOf(bars), 'run')} in 24 hours: ${summary}"
      focusable="false"
    >
      <rect class="rest" y="10" width="${lane.width}" height="4" />
      ${[1, 2, 3, 4, 5, 6, 7].map(
        (tick) => html`<line class="tick" x1="${tick * 180}" x2="${tick * 180}" y1="10" y2="14" />`,
      )}
      ${bars.map(({ x, width, runs }) => {
        const { mark, height } = looks[runs.outcome];
        return html`<rect
          class="f-${mark}"
          x="${x.toFixed(1)}"
          y="${(lane.height - height) / 2}"
          width="${width.toFixed(1)}"
          height="${height}"
        >
          <title>${barText(runs, now)}</title>
        </rect>`;
      })}
    </svg>`;
}

function barText({ job, outcome, count, reason, startedAt, finishedAt, requests }: RunGroup, now: string): string {
  const took = durationText(Date.parse(finishedAt ?? now) - Date.parse(startedAt));
  const why = reason === null ? '' : ` (${codeText(reason)})`;
  const what = count === 1 ? `${job}: ${outcome}` : `${job}: ${countText(count)} ${outcome}`;
  return `${what}${why}, ${minuteText(startedAt)}, ${count === 1 ? '' : 'within '}${took}, ${countedText(requests, 'request')}`;
}

function legend(outcomes: readonly Outcome[]): Markup {
  return html`<ul class="legend" aria-hidden="true">
    ${(Object.keys(looks) as Outcome[])
      .filter((outcome) => outcomes.includes(outcome))
      .map((outcome) => {
        const { mark, height } = looks[outcome];
        return html`<li>
          <svg viewBox="0 0 14 24" focusable="false">
            <rect class="f-${mark}" y="${(24 - height) / 2}" width="14" height="${height}" />
          </svg>
          ${outcome}
        </li>`;
      })}
  </ul>`;
}

function runTable(runs: readonly RunReport[], now: string): Markup {
  return table(
    'The newest runs',
    ['Job', 'Outcome', 'Reason', 'Began', { heading: 'Took', is: 'number' }, 'Requests'],
    runs.map(({ job, outcome, reason, startedAt, finishedAt, requests }) => [
      job,
      badge(looks[outcome].mark, outcome),
      reason === null ? '' : codeText(reason),
      when(startedAt, now),
      durationText(Date.parse(finishedAt ?? now) - Date.parse(startedAt)),
      requests,
    ]),
  );
}

/** The time of day so many hours ago. */
function hourText(now: string, hoursBefore: number): string {
  return new Date(Date.parse(now) - hoursBefore * 3_600_000).toISOString().slice(11, 16);
}
