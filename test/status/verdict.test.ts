import { expect, test } from 'vitest';
import { alertKinds } from '../../src/config/alert-kinds.ts';
import { forProject } from '../../src/config/projects.ts';
import { judge, judgeProject, readinessOf } from '../../src/status/verdict.ts';
import type { ProjectContent } from '../../src/status/overview.ts';
import { alertOf } from '../../src/worker/alerts.ts';
import { thousandProjects, wholePass, worlds } from './worlds.ts';

test.each([
  ['fresh', 'well', 'All is well'],
  ['running', 'well', 'All is well'],
  ['five hundred requests', 'well', 'All is well'],
  [
    'two projects',
    'attention',
    'The data are getting old: 1 of 2 projects (staging with a rather long name of its own)',
  ],
  ['stale', 'attention', 'The data are getting old. 1 more thing needs you'],
  ['held', 'attention', 'Your approval is needed: 2 erasure requests, 1 plan of deletions'],
  ['attention', 'broken', '1 erasure request is overdue. 1 more thing needs you'],
  ['broken', 'broken', 'The ledger cannot be written. 3 more things need you'],
  ['empty', 'new', 'Nothing is mirrored yet'],
  ['no project', 'new', 'Nothing is mirrored yet'],
  ['cluster', 'broken', 'No machine is at work: 1 of 4 projects (silent)'],
] as const)('%s is judged %s: %s', (name, tone, sentence) => {
  expect(judge(worlds[name])).toMatchObject({ tone, sentence });
});

test('a list that no pass saw as a whole is not well, though another one is fresh', () => {
  const [project] = worlds.fresh.projects;
  const lists = project.content.lists.map((list) =>
    list.dataset === 'persons' ? { ...list, state: 'incomplete' as const, completeAsOf: null } : list,
  );
  const { sentence, reasons } = judgeProject({ ...project, content: { ...project.content, lists } }, worlds.fresh.at);
  expect(lists.some(({ state }) => state === 'fresh')).toBe(true);
  expect(sentence).toBe('A list was never seen as a whole');
  expect(reasons[0]?.message).toBe('no complete pass of persons yet');
});

test('a first pass under way says how far it is', () => {
  const [project] = worlds.fresh.projects;
  const startedAt = new Date(Date.parse(worlds.fresh.at) - 20_000).toISOString();
  const lists = project.content.lists.map((list) => ({ ...list, state: 'never' as const }));
  const sentenceWith = (countReported: number | null, verdict: 'running' | 'unfinished' = 'running'): string => {
    const own = { ...wholePass, verdict, startedAt, countReported };
    const content = {
      ...project.content,
      lists,
      passes: [{ ...own, rowsDistinct: 2000, windows: 20 }],
    } as ProjectContent;
    return judgeProject({ ...project, alerts: [], content }, worlds.fresh.at).sentence;
  };
  expect(sentenceWith(6000)).toBe('First pass: 2,000 of about 6,000 persons, 40 s left');
  expect(sentenceWith(null)).toBe('First pass: 2,000 persons so far');
  expect(sentenceWith(6000, 'unfinished')).toBe('First pass, interrupted: 2,000 of about 6,000 persons');
});

test('what waits for approval has the commands for whom, for yes and for no', () => {
  const [held] = worlds.held.projects;
  const [{ todo } = { todo: '' }] = judgeProject(held, worlds.held.at).reasons;
  const [{ id } = { id: '' }] = held.content.openRequests;
  const [{ plan } = { plan: '' }] = held.content.held;
  const named = (text: string): string =>
    text.replaceAll(id.slice(0, 8), 'ID').replaceAll(plan, 'PLAN').replaceAll(` --project ${held.name}`, '');
  expect(named(todo)).toBe(
    [
      'Request ID is held (several persons) and would erase 2 persons.',
      'Whom: `analytics-mirror erase show ID`',
      'Yes: `analytics-mirror erase approve ID`',
      'No: `analytics-mirror erase cancel ID`',
      'Plan PLAN would delete 90,112 of 1,204,331 persons.',
      'Which: `analytics-mirror reconcile --dry-run`',
      'Yes: `analytics-mirror reconcile --approve PLAN`',
      'No: leave it. Nothing of them is deleted.',
      '1 more request: `analytics-mirror erase list`',
    ].join('\n'),
  );
});

test('a request that is overdue is named, with what it waits for and the command for it', () => {
  const { reasons } = judge(worlds.attention);
  const [overdue, attention] = reasons.map(({ message, todo }) => [message].concat(todo.split('\n')));
  expect(overdue).toEqual([
    '1 erasure request is overdue',
    expect.stringMatching(
      /^Request (\w{8}) was due 3 days ago: needs attention, events unconfirmed\. What to do: `analytics-mirror --project production erase show \1`$/,
    ),
  ]);
  expect(attention).toEqual([
    '2 erasure requests need you',
    expect.any(String),
    expect.stringMatching(/is due in 9 days: .*residue found/),
  ]);
});

test('a request that waits for the service is named as one that needs an operator', () => {
  const [project] = worlds.attention.projects;
  const [request] = project.content.openRequests;
  if (!request) throw new Error('a world without a request');
  const waiting = { ...request, waitsFor: 'service_rejects' as const, reasons: ['service_rejects'] };
  const openRequests = [
    { ...waiting, state: 'received' as const },
    { ...waiting, state: 'held' as const },
  ];
  const { reasons } = judgeProject({ ...project, content: { ...project.content, openRequests } }, worlds.attention.at);
  const told = reasons.find(({ title }) => title.includes('need you'));
  expect(told?.todo.match(/: received, service rejects/g)).toHaveLength(1);
  expect(told?.todo).not.toContain('held');
});

test('of many projects, the sentence says how many need a person, and which', () => {
  const [well] = worlds.fresh.projects;
  const [stale] = worlds.stale.projects;
  const [held] = worlds.held.projects;
  const named = (count: number, from: typeof well): (typeof well)[] =>
    Array.from({ length: count }, (_project, index) => ({
      ...from,
      name: `${from === well ? 'well' : 'held'}-${index}`,
    }));
  const sentenceWith = (count: number): string =>
    judge({
      ...worlds.fresh,
      projects: [...named(20 - count, well), { ...stale, name: 'old' }, ...named(count - 1, held)],
    }).sentence;
  expect(sentenceWith(1)).toBe('The data are getting old: 1 of 20 projects (old)');
  expect(sentenceWith(3)).toBe('3 of 20 projects need you: old, held-0, held-1');
  expect(sentenceWith(8)).toBe('8 of 20 projects need you: old, held-0, held-1, held-2, held-3 and 3 more');
});

test('the worst comes first, whichever project it is in', () => {
  const [well] = worlds.fresh.projects;
  const [held] = worlds.held.projects;
  const [attention] = worlds.attention.projects;
  const { tone, reasons } = judge({ ...worlds.fresh, projects: [well, held, attention] });
  expect(tone).toBe('broken');
  expect(reasons.map((reason) => reason.tone)).toEqual(['broken', 'attention', 'attention']);
  expect(judgeProject(well, worlds.fresh.at).tone).toBe('well');
});

test.each(alertKinds)('the alert %s is never well, and says what to do', (kind) => {
  const [project] = worlds.fresh.projects;
  const { tone, reasons } = judgeProject({ ...project, alerts: [alertOf(kind, 'it is so')] }, worlds.fresh.at);
  expect(['attention', 'broken']).toContain(tone);
  expect(reasons[0]?.todo).toMatch(/`.+`/);
});

test('a fault of the service is told once, since its first failure, with every job and project that it stops', () => {
  const { sentence, reasons } = judge(worlds['two projects, both down']);
  expect(sentence).toBe('The service does not answer since 09:04 UTC: 2 of 2 projects (shop, blog)');
  expect(reasons[0]).toEqual({
    tone: 'broken',
    title: 'The service does not answer since 09:04 UTC',
    message:
      'The service does not answer since 09:04 UTC. These jobs fail: shop: head, full, recordings, playlists, reconcile; blog: head',
    todo: expect.stringContaining('`analytics-mirror --project shop doctor`') as string,
    section: 'schedule',
    projects: ['shop', 'blog'],
  });
  // What both wait for reads alike, so it is told once too.
  expect(reasons[1]).toMatchObject({
    title: 'Your approval is needed: 2 erasure requests, 1 plan of deletions',
    projects: ['shop', 'blog'],
  });
});

test('the first failure by a refused key is red, before anything was mirrored', () => {
  const { tone, sentence, reasons } = judge(worlds['refused key']);
  expect([tone, sentence]).toEqual(['broken', 'The service refuses the key since 12:03 UTC']);
  expect(reasons).toHaveLength(1);
});

test('a fault that began on another day is told with its date', () => {
  const [project] = worlds['refused key'].projects;
  expect(judgeProject(project, '2026-11-21T08:00:00.000Z').sentence).toBe(
    'The service refuses the key since 2026-11-20 12:03 UTC',
  );
});

test('a command names its project, unless there is only one', () => {
  expect(forProject('Run `analytics-mirror doctor`.', 'shop')).toBe('Run `analytics-mirror --project shop doctor`.');
  expect(forProject('Run `analytics-mirror doctor`.', 'default')).toBe('Run `analytics-mirror doctor`.');
});

test('lists that are stale are not well, even when every job says that it succeeded', () => {
  const [project] = worlds.stale.projects;
  const { tone, reasons } = judgeProject({ ...project, alerts: [] }, worlds.stale.at);
  expect(tone).toBe('attention');
  expect(reasons[0]?.message).toBe('no recent complete pass of persons');
});

test('a service that does something else than to refuse the key is not said to do so', () => {
  const [project] = worlds.fresh.projects;
  const sentenceOf = (kind: 'refused' | 'unreachable', message: string): string =>
    judgeProject({ ...project, alerts: [alertOf(kind, message)] }, worlds.fresh.at).sentence;
  const since = 'since 2026-11-30 15:47 UTC';
  expect(sentenceOf('refused', `the service does not know the project ${since}: sync`)).toBe(
    `The service does not know the project ${since}`,
  );
  expect(sentenceOf('unreachable', `the service answers with errors ${since}: sync`)).toBe(
    `The service answers with errors ${since}`,
  );
});

test('what to do about stale lists is told by their passes: none was incomplete where nobody has begun one', () => {
  const [project] = worlds.stale.projects;
  const todoWith = (verdict: 'complete' | 'incomplete' | 'running' | 'unfinished'): string | undefined => {
    const content = { ...project.content, passes: [{ ...wholePass, verdict }] };
    return judgeProject({ ...project, alerts: [], content }, worlds.stale.at).reasons[0]?.todo;
  };
  expect(todoWith('incomplete')).toMatch(/^Look at the passes below/);
  expect(todoWith('running')).toBe('A pass is under way.');
  for (const verdict of ['complete', 'unfinished'] as const)
    expect(todoWith(verdict)).toMatch(/^No pass is under way: start the worker, or run .* sync`\.$/);
});

test('a data folder that cannot be read is broken, and not new', () => {
  const [project] = worlds.empty.projects;
  const { tone, sentence } = judgeProject({ ...project, problem: 'storage' }, worlds.empty.at);
  expect([tone, sentence]).toEqual(['broken', 'The data folder cannot be read']);
});

test('ready is who is fresh, has disk left and can write the ledger', () => {
  expect(readinessOf(worlds.fresh)).toEqual({ ready: true, reasons: [] });
  // Waiting for a person is no reason to send nobody to what is fresh.
  expect(readinessOf(worlds.held).ready).toBe(true);
  expect(readinessOf(worlds.stale).reasons).toEqual(['production: persons is stale']);
  expect(readinessOf(worlds.broken).reasons).toEqual([
    'production: the disk is nearly full',
    'production: the ledger cannot be written',
  ]);
  expect(readinessOf(worlds.empty).reasons).toEqual(['production: nothing is mirrored yet']);
  const [project] = worlds.empty.projects;
  expect(readinessOf({ ...worlds.empty, projects: [{ ...project, problem: 'storage' }] }).reasons).toEqual([
    'production: the data folder cannot be used (storage)',
  ]);
});

test('of many projects, reasons that differ in a number only are one', () => {
  const { at, projects } = thousandProjects;
  const failing = projects
    .slice(0, 40)
    .map((project, index) =>
      Object.assign(structuredClone(project), {
        alerts: [alertOf('failing', `full has failed ${2 + (index % 3)} times in a row (storage)`, 'full')],
      }),
    );
  expect(judge({ at, projects: failing }).reasons).toMatchObject([
    { message: 'full has failed 2 times in a row (storage), or alike', projects: { length: 40 } },
  ]);
  expect(judge({ at, projects: failing.slice(0, 3) }).reasons).toHaveLength(3);
});

test('of a cluster, what no machine works on is red with its cause, and a machine is ready without what others hold', () => {
  const { reasons } = judge(worlds.cluster);
  expect(reasons).toMatchObject([
    { projects: ['silent'], tone: 'broken', message: 'no machine has worked on it for 3 minutes' },
  ]);
  expect(readinessOf(worlds.cluster).reasons).toEqual(['silent: no machine works on it']);
  const [, far] = worlds.cluster.projects;
  expect(judgeProject(far, worlds.cluster.at).tone).toBe('well');
  const [job] = far.jobs;
  const unbegun = job ? [{ ...job, lastSuccessAt: null }] : [];
  expect(judgeProject({ ...far, jobs: unbegun }, worlds.cluster.at).tone).toBe('new');
});
