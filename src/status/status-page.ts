import { createHash } from 'node:crypto';
import { html, raw } from 'hono/html';
import { onlyName } from '../config/projects.ts';
import type { Overview, ProjectOverview } from './overview.ts';
import { budgetUse } from './page-budget.ts';
import { historyTable } from './page-history.ts';
import { freshnessCards, placeOf, summaryOf } from './page-freshness.ts';
import { textOf, type Markup } from '../markup/markup.ts';
import { commandStart, foldedPart, icon, part, withCode } from './page-parts.ts';
import { passRows } from './page-passes.ts';
import { requestsPart } from './page-requests.ts';
import { runTimeline } from './page-runs.ts';
import { pageScript } from './page-script.ts';
import { ledgerLine, ledgerPart, scheduleLine, schedulePart, snapshotsPart } from './page-stores.ts';
import { pageStyle } from './page-style.ts';
import type { Section } from '../config/alert-kinds.ts';
import { compareTones, judge, judgeProject, namedMax, type Reason, type Verdict } from './verdict.ts';
import { capital, countText, countedText, durationText } from '../core/words.ts';

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** Allows the page's own style and script, and requests to its own server; nothing else. */
export const pagePolicy = [
  "default-src 'none'",
  `style-src ${hashOf(pageStyle)}`,
  `script-src ${hashOf(pageScript)}`,
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The most cards and reasons on a page, the worst first. The rest is counted. */
const cardsMax = 100;
const reasonsMax = 20;
/** Among more projects than these one is found by its name. */
const findMin = 12;

/** The status page: the answer at the top, and the details below it. The page is complete without its script. */
export function statusPage(overview: Overview): string {
  const { at, version, startedAt, projects } = overview;
  const verdict = judge(overview);
  const only = projects.length === 1 ? projects[0] : undefined;
  const clock = `${at.slice(11, 19)} UTC`;
  return textOf(
    html`<!doctype html>
      <html lang="en" data-at="${at}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="referrer" content="no-referrer" />
          <title>${verdict.sentence} – analytics-mirror</title>
          <link rel="icon" href="/icon/${verdict.tone}.svg" type="image/svg+xml" />
          ${raw(`<style>${pageStyle}</style>`)}
        </head>
        <body>
          <a class="skip" href="#content">Skip to the details</a>
          <header class="top p-${verdict.tone}" id="top">
            <div class="wide">
              <p class="brand">
                <a href="/"><b>analytics-mirror</b></a> <span class="live" id="live">as of ${clock}</span>
              </p>
              ${answer(verdict, projects, at)}
            </div>
          </header>
          <main class="wide" id="content" tabindex="-1">
            ${projects.length > findMin ? findField : ''} ${projects.length > 1 ? projectCards(projects, at) : ''}
            ${only ? projectSection(only, at) : ''}
            ${projects.length === 0 ? html`<p>No project is configured. See <code>config/default.yaml</code>.</p>` : ''}
          </main>
          <footer class="wide">
            <p>
              analytics-mirror ${version}, running for ${durationText(Date.parse(at) - Date.parse(startedAt))}. All
              times are UTC. For machines:
              <a href="/status.json">status.json</a>, <a href="/metrics">metrics</a>, <a href="/readyz">readyz</a>.
            </p>
          </footer>
          ${raw(`<script>${pageScript}</script>`)}
        </body>
      </html> `,
  );
}

/** The mark of a verdict as a picture for the browser's tab. Undefined for any other name. */
export function tabIcon(name: string): string | undefined {
  const colours = { well: '#1f8a50', new: '#2f6db5', attention: '#d98a15', broken: '#cf3a22' } as const;
  const tone = (Object.keys(colours) as (keyof typeof colours)[]).find((one) => one === name);
  if (tone === undefined) return undefined;
  return textOf(icon(tone))
    .replace('<svg', `<svg xmlns="http://www.w3.org/2000/svg" color="${colours[tone]}"`)
    .replaceAll('class="cut"', 'stroke="#fff"');
}

function answer(verdict: Verdict, projects: readonly ProjectOverview[], now: string): Markup {
  const only = projects.length === 1 ? projects[0] : undefined;
  const rest = verdict.reasons.length - reasonsMax;
  return html`<div class="answer">
      <span id="sign" data-part>${icon(verdict.tone)}</span>
      <div role="status"><h1 id="verdict">${verdict.sentence}</h1></div>
    </div>
    <p class="lead" id="lead" data-part>
      ${verdict.tone === 'new' && projects.length > 0 ? 'There is nothing to do: the worker goes on by itself.' : ''}
      ${only ? html`${summaryOf(only, now)}<span class="place">${placeText(only)}</span>` : projectsText(projects, now)}
    </p>
    <ul class="todo" id="todo" data-part>
      ${verdict.reasons.slice(0, reasonsMax).map((reason) => html`<li>${reasonText(reason, verdict.sentence, projects)}</li>`)}
    </ul>
    ${rest > 0 ? html`<p class="small">and ${countedText(rest, 'thing')} more</p>` : ''}`;
}

/** How many of several projects are well. */
function projectsText(projects: readonly ProjectOverview[], now: string): Markup | string {
  const well = projects.filter((project) => judgeProject(project, now).tone === 'well').length;
  if (well === projects.length) return countedText(well, 'project');
  return html`<b>${countText(well)} of ${countText(projects.length)}</b> projects are well.`;
}

/** Which project of which service is mirrored, and where. */
function placeText({ name, service: { baseUrl, projectId }, dataDir }: ProjectOverview): Markup {
  const title = name === onlyName ? '' : html`<b>${name}</b>: `;
  return html`${title}project ${projectId ?? '(not configured)'} of
  ${baseUrl === null ? 'a service that is not configured' : new URL(baseUrl).host}, in ${dataDir}`;
}

/** A reason with what to do about it. What the headline has said already is not said again. */
function reasonText(
  { tone, title, message, todo, section, projects: named }: Reason,
  headline: string,
  all: readonly ProjectOverview[],
): Markup {
  const said = `${capital(message)}${message.endsWith('.') ? '' : '.'}`;
  const isSaid = headline.startsWith(title) && said.startsWith(`${title}.`);
  const words = isSaid ? said.slice(title.length + 2) || 'What to do' : said;
  const links = named.slice(0, namedMax).map((name) => {
    const project = all.find((one) => one.name === name);
    const path = `${all.length > 1 ? projectPath(name) : ''}#${project?.content ? section : 'schedule'}`;
    return html`<a class="of" href="${path}">${all.length > 1 ? name : 'Show'}</a> `;
  });
  const more = named.length - links.length;
  const of = html`${links}${more > 0 ? html`<span class="of">and ${countedText(more, 'project')} more</span>` : ''}`;
  return html`${icon(tone)}
    <div>
      <h2>${all.length > 1 ? html`${of} ${words}` : html`${words} ${of}`}</h2>
      ${todo.split('\n').map((line) => html`<p class="small">${withCode(capital(line))}</p>`)}
    </div>`;
}

/** Hidden until the script is there that makes it work. */
const findField = html`<p class="find" hidden>
  <label for="find">Find a project</label>
  <input type="search" id="find" autocomplete="off" spellcheck="false" aria-describedby="found" />
  <span id="found" class="small" role="status"></span>
</p>`;

function projectCards(projects: readonly ProjectOverview[], now: string): Markup {
  const all = projects
    .map((project, index) => ({ project, index, verdict: judgeProject(project, now) }))
    .toSorted((a, b) => compareTones(a.verdict.tone, b.verdict.tone));
  const cards = all.slice(0, cardsMax);
  const rest = all.slice(cardsMax);
  return html`<nav aria-label="Projects" id="projects" data-part>
    <ul class="cards">
      ${cards.map(
        ({ project, index, verdict: { tone, sentence: answered } }) =>
          html`<li>
            <a class="card" href="${projectPath(project.name)}" id="to-p${index}">
              ${icon(tone)}
              <span class="project-card">
                <b>${project.name}</b>
                <span>${answered}</span>
                <span class="small">${summaryOf(project, now)}</span>
              </span>
            </a>
          </li>`,
      )}
    </ul>
    ${
      rest.length === 0
        ? ''
        : html`<details id="rest" class="small">
            <summary id="rest-summary">and ${countedText(rest.length, 'project')} more</summary>
            <ul class="names">
              ${rest.map(({ project: { name }, verdict: { tone } }) => html`<li><a href="${projectPath(name)}">${name}</a>${tone === 'well' ? '' : ` (${tone})`}</li>`)}
            </ul>
          </details>`
    }
  </nav>`;
}

/** The path of the page of one project. */
function projectPath(name: string): string {
  return `/project/${encodeURIComponent(name)}`;
}

/** All about one project. Its commands name it. */
function projectSection(project: ProjectOverview, now: string): Markup {
  const { name } = project;
  const text = textOf(detailsOf(project, now));
  return raw(
    name === onlyName ? text : text.replaceAll(commandStart, `${commandStart}--project ${textOf(html`${name}`)} `),
  );
}

function detailsOf(project: ProjectOverview, now: string): Markup {
  const { jobs, problem, content, cluster } = project;
  const { reasons } = judgeProject(project, now);
  const isNamed = (section: Section): boolean => reasons.some((reason) => reason.section === section);
  if (cluster && !cluster.isHere)
    return html`<section class="project">
      ${part('none', 'On another machine', html`<p class="soft">${placeOf(cluster, now)} The page of that machine shows more.</p>`)}
      ${part('schedule', 'Schedule', schedulePart(jobs, now))}
    </section>`;
  if (!content)
    return html`<section class="project">
      ${part('none', 'Nothing to show yet', html`<p class="soft">${problem === null ? 'The first run makes the mirror.' : 'The data folder cannot be read.'}</p>`)}
      ${part('schedule', 'Schedule', schedulePart(jobs, now))}
    </section>`;
  return html`<section class="project">
    ${part('freshness', 'Freshness', freshnessCards(content, now))}
    ${part('runs', 'The last 24 hours', runTimeline(content, 'runs', now))}
    ${part('requests', 'Erasure requests', requestsPart(content, project.name, now))}
    <div class="pair">
      ${part('passes', 'Passes over the lists', passRows(content, 'pass', now))}
      ${part('budget', 'Requests to the service', budgetUse(content))}
    </div>
    ${part('history', `The last ${countedText(content.history.days.length, 'day')}`, historyTable(content.history))}
    ${part('snapshots', 'Snapshots', snapshotsPart(content, now))}
    ${foldedPart('ledger', 'Ledger', { line: ledgerLine(content, now), isOpen: isNamed('ledger') }, ledgerPart(content, now))}
    ${foldedPart('schedule', 'Schedule', { line: scheduleLine(jobs, now), isOpen: isNamed('schedule') }, schedulePart(jobs, now))}
  </section>`;
}
