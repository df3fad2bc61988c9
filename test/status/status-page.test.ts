import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { textOf } from '../../src/markup/markup.ts';
import { budgetUse } from '../../src/status/page-budget.ts';
import { passRows } from '../../src/status/page-passes.ts';
import { layOutRuns } from '../../src/status/page-runs.ts';
import { pagePolicy, statusPage, tabIcon } from '../../src/status/status-page.ts';
import { groupRuns } from '../../src/status/gather-overview.ts';
import type { RunGroup, RunReport } from '../../src/status/overview.ts';
import { thousandProjects, wholePass, worlds } from './worlds.ts';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64');

test.each(Object.entries(worlds))(
  '%s: one style, one script, both allowed by their hash, and nothing from elsewhere',
  (_name, world) => {
    const page = statusPage(world);
    const [[, style = ''] = [], ...styles] = page.matchAll(/<style>([\s\S]*?)<\/style>/g);
    const [[, script = ''] = [], ...scripts] = page.matchAll(/<script>([\s\S]*?)<\/script>/g);
    expect([...styles, ...scripts]).toEqual([]);
    expect(pagePolicy).toContain(`style-src 'sha256-${hashOf(style)}'`);
    expect(pagePolicy).toContain(`script-src 'sha256-${hashOf(script)}'`);
    expect(page).not.toMatch(/ style="| on\w+="|https?:\/\//);
    const links = Array.from(page.matchAll(/ (?:href|src)="([^"]*)"/g), ([, to = '']) => to);
    expect(links.filter((to) => !/^[/#]/.test(to))).toEqual([]);
    const ids = Array.from(page.matchAll(/ id="([^"]*)"/g), ([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const to of links.filter((link) => link.startsWith('#'))) expect(ids).toContain(to.slice(1));
  },
);

test('what is configured cannot become markup', () => {
  const [project] = worlds.stale.projects;
  const name = '<img src=x onerror=alert(1)>';
  const page = statusPage({ ...worlds.stale, projects: [{ ...project, name }, project] });
  expect(page).not.toContain('<img');
  expect(page).toContain('&lt;img src=x onerror=alert(1)&gt;');
});

test('the page shows codes, times and numbers of a request, and a part of its id', () => {
  const page = statusPage(worlds.attention);
  const [request] = worlds.attention.projects[0].content.openRequests;
  expect(page).toContain(request?.id.slice(0, 8));
  expect(page).not.toContain(request?.id.slice(0, 13));
  expect(page).toContain('was due');
  expect(page).toContain('events unconfirmed');
});

test.each([
  ['no_progress', 'limits'],
  ['count_not_reached', 'counts more rows than the pass has seen'],
] as const)('a pass that ended for %s says what that means', (reason, words) => {
  expect(
    textOf(passRows({ passes: [{ ...wholePass, verdict: 'incomplete', reason }], windows: [] }, 'passes', now)),
  ).toContain(words);
  expect(textOf(passRows({ passes: [wholePass], windows: [] }, 'passes', now))).not.toContain(words);
});

test('a pass with pages that were refused does not say that each of its pages was joined', () => {
  const rowsOf = (windows: number): string =>
    textOf(passRows({ passes: [{ ...wholePass, windows, seams: 10 }], windows: [] }, 'passes', now));
  expect(rowsOf(11)).toContain('Each page that counts shares rows with the one before it, at 10 seams, so');
  expect(rowsOf(11)).not.toContain('do not count');
  expect(rowsOf(14)).toContain('3 pages that could not be joined do not count.');
});

test('ledger and schedule are closed where all is well with them, and open where a reason leads there', () => {
  const opened = (page: string): string[] =>
    Array.from(
      page.matchAll(/id="(\w+)-fold"\s+data-as="(\w+)"\s+(open)?/g),
      ([, id, as, open]) => `${id} ${as} ${open}`,
    );
  expect(opened(statusPage(worlds.fresh))).toEqual(['ledger closed undefined', 'schedule closed undefined']);
  expect(opened(statusPage(worlds.broken))).toEqual(['ledger open open', 'schedule closed undefined']);
  expect(opened(statusPage(worlds['service down']))).toEqual(['ledger closed undefined', 'schedule open open']);
});

test('the first pass over a list says on its card how far it is, and how long it takes', () => {
  const [project] = worlds.fresh.projects;
  const startedAt = new Date(Date.parse(worlds.fresh.at) - 20_000).toISOString();
  const first = {
    ...wholePass,
    verdict: 'running' as const,
    startedAt,
    finishedAt: null,
    rowsDistinct: 2000,
    countReported: 6000,
    windows: 20,
  };
  const lists = project.content.lists.map((list) => ({ ...list, state: 'never' as const, completeAsOf: null }));
  const content = { ...project.content, lists, passes: [first] };
  const page = statusPage({ ...worlds.fresh, projects: [{ ...project, content }] });
  expect(page).toContain('<b>First pass: 2,000 of about 6,000 rows, 40 s left</b>');
  expect(page).toContain('<span class="small line">2,000 of about 6,000 rows, 40 s left</span>');
  expect(page).toContain('There is nothing to do: the worker goes on by itself.');
});

test('projects stand by how bad they are, the worst first', () => {
  const [well] = worlds.fresh.projects;
  const [held] = worlds.held.projects;
  const [broken] = worlds.broken.projects;
  const projects = [
    { ...well, name: 'a' },
    { ...held, name: 'b' },
    { ...well, name: 'c' },
    { ...broken, name: 'd' },
  ];
  const page = statusPage({ ...worlds.fresh, projects });
  const [, cards = ''] = /<nav[^>]*>(.*?)<\/nav>/s.exec(page) ?? [];
  expect(Array.from(cards.matchAll(/<b>([a-d])<\/b>/g), ([, name]) => name).join('')).toBe('dbac');
});

test('recordings of three days only are told on their card, with the setting', () => {
  const [project] = worlds.fresh.projects;
  const passes = project.content.passes.map((pass) => ({
    ...pass,
    assumptions: { ...pass.assumptions, defaultWindow: pass.dataset === 'recordings' },
  }));
  const page = statusPage({ ...worlds.fresh, projects: [{ ...project, content: { ...project.content, passes } }] });
  const [, freshness = ''] = /id="freshness"(.*?)<\/section>/s.exec(page) ?? [];
  expect(freshness).toMatch(
    /perhaps not all.*In the configuration, set <code\s*>recordings\.query: \{date_from: <span class="word">-30d\}/s,
  );
  expect(page.match(/no date_from is configured/gi)).toHaveLength(1);
});

test('without a limit of all requests, only that of the other lane is shown, and the page says so', () => {
  const [project] = worlds.fresh.projects;
  const windows = project.content.windows.filter(({ lane }) => lane === 'recordings list');
  const text = textOf(budgetUse({ ...project.content, windows }));
  expect(text).toContain('List of recordings');
  expect(text).not.toContain('All requests:');
  expect(text).toContain('so they are not counted');
});

test('a command is not broken at its hyphens, and names its project', () => {
  const [held] = worlds.held.projects;
  const page = statusPage({ ...worlds.held, projects: [{ ...held, name: 'shop' }] });
  expect(page).toMatch(
    /<span class="word">analytics-mirror<\/span> --project shop reconcile <span class="word">--approve<\/span>/,
  );
});

test('an ended request leads to its certificate', () => {
  expect(statusPage(worlds.fresh)).toContain('href="/certificate/production/1c0ffee0-52f1-4b7e-9a20-4f1de36a9b01"');
});

test('what is not listed is counted', () => {
  expect(statusPage(worlds['five hundred requests'])).toMatch(/and 488 requests more/);
});

test('the icon of a tab is a picture by itself', () => {
  expect(tabIcon('well')).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" color="#1f8a50"/);
  expect(tabIcon('well')).toContain('stroke="#fff"');
  expect(tabIcon('toString')).toBeUndefined();
});

const now = '2026-11-20T12:00:00.000Z';
const run = (startedAt: string, finishedAt: string | null): RunGroup => ({
  count: 1,
  job: 'full',
  startedAt,
  finishedAt,
  outcome: finishedAt === null ? 'running' : 'done',
  reason: null,
  requests: 0,
});

test('a run stands where it was in the day, is never too small to see, and never outside', () => {
  const bars = layOutRuns(
    [
      run('2026-11-20T11:59:59.000Z', null),
      run('2026-11-20T06:00:00.000Z', '2026-11-20T07:00:00.000Z'),
      run('2026-11-19T11:00:00.000Z', '2026-11-19T13:00:00.000Z'),
      run('2026-11-18T11:00:00.000Z', '2026-11-18T13:00:00.000Z'),
      run('2026-11-20T12:30:00.000Z', '2026-11-20T12:40:00.000Z'),
    ],
    now,
  );
  expect(bars.map(({ x, width }) => [x, width])).toEqual([
    [1434, 6],
    [1080, 60],
    [0, 60],
    [1434, 6],
  ]);
});

/** So many runs of the last day, of nine jobs that end in every way, newest first. */
function manyRuns(count: number): RunReport[] {
  const outcomes = ['done', 'failed', 'incomplete', 'held', 'interrupted'] as const;
  return Array.from({ length: count }, (_run, index) => {
    const at = new Date(Date.parse(now) - Math.floor((index / count) * 86_400_000)).toISOString();
    const outcome = outcomes[(index * 7) % 5] ?? 'done';
    return {
      id: index,
      job: `job-${index % 9}`,
      startedAt: at,
      finishedAt: at,
      outcome,
      reason: 'unreachable',
      requests: 3,
    };
  });
}

test.each([1, 2, 3, 50, 400])('the page of %i projects with 2,000 runs a day each stays below 300 kB', (count) => {
  const [project] = worlds.attention.projects;
  const runs = manyRuns(2000);
  // As many groups as are gathered.
  const content = { ...project.content, runs: runs.slice(0, 12), runGroups: groupRuns(runs).slice(0, 240) };
  const projects = Array.from({ length: count }, (_one, index) => ({ ...project, name: `project ${index}`, content }));
  const page = statusPage({ ...worlds.attention, projects });
  expect(Buffer.byteLength(page)).toBeLessThan(300_000);
  if (count > 2) expect(page).toContain('href="/project/project%202"');
  if (count === 400) expect(page).toContain('and 300 projects more');
});

test('runs of an hour that ended alike are one bar, which tells how many', () => {
  const at = (time: string): string => `2026-11-20T${time}.000Z`;
  const one = { id: 1, job: 'head', reason: null, requests: 4, outcome: 'done' as const };
  const groups = groupRuns([
    { ...one, startedAt: at('11:15:00'), finishedAt: null, outcome: 'running' },
    { ...one, startedAt: at('11:00:00'), finishedAt: at('11:01:00') },
    { ...one, startedAt: at('10:30:00'), finishedAt: at('10:31:00') },
    { ...one, startedAt: at('10:15:00'), finishedAt: at('10:16:00'), outcome: 'failed', reason: 'service' },
    { ...one, startedAt: at('10:00:00'), finishedAt: at('10:01:00') },
  ]);
  expect(
    groups.map(({ outcome, startedAt, finishedAt, count, requests }) => [
      outcome,
      startedAt,
      finishedAt,
      count,
      requests,
    ]),
  ).toEqual([
    ['running', at('11:15:00'), null, 1, 4],
    ['done', at('11:00:00'), at('11:01:00'), 1, 4],
    ['done', at('10:00:00'), at('10:31:00'), 2, 8],
    ['failed', at('10:15:00'), at('10:16:00'), 1, 4],
  ]);
  const [project] = worlds.fresh.projects;
  const page = statusPage({
    ...worlds.fresh,
    projects: [{ ...project, content: { ...project.content, runGroups: groups } }],
  });
  expect(page).toContain('head: 2 done,');
  expect(page).toContain('head: 5 runs in 24 hours: 1 running, 3 done, 1 failed');
});

test('a thousand projects are one page: the worst first, most of them folded, and each can be found', () => {
  const page = statusPage(thousandProjects);
  expect(page.length).toBeLessThan(250_000);
  expect(page.match(/class="card"/g)).toHaveLength(100);
  expect(page.indexOf('href="/project/project-900"')).toBeLessThan(page.indexOf('href="/project/project-0"'));
  expect(page).toContain('and 900 projects more');
  for (let index = 0; index < 1000; index += 1) expect(page).toContain(`href="/project/project-${index}"`);
});

test('what touches a thousand projects is said in a line: five of them are named, the others counted', () => {
  const { projects } = thousandProjects;
  const [down] = worlds['service down'].projects;
  const page = statusPage({
    ...thousandProjects,
    projects: projects.map((project) =>
      Object.assign(structuredClone(project), { alerts: down.alerts, jobs: down.jobs }),
    ),
  });
  expect(page).toMatch(/<h1[^>]*>The service does not answer since 09:04 UTC: 1,000 of 1,000 projects</);
  const [, todo = ''] = /<ul class="todo"[^>]*>(.*?)<\/ul>/s.exec(page) ?? [];
  expect(todo.match(/class="of" href/g)).toHaveLength(10);
  expect(todo).toContain('and 995 projects more');
  expect(todo.length).toBeLessThan(6_000);
});

test('a project on another machine is shown by what that machine has said', () => {
  const page = statusPage(worlds.cluster);
  expect(page).toContain('On <b>mirror-2</b>');
  expect(page).toContain('Paused by an operator');
  const [, blog] = worlds.cluster.projects;
  const own = statusPage({ ...worlds.cluster, projects: [blog] });
  expect(own).toContain('On another machine');
  expect(own).toContain('The page of that machine shows more.');
});
