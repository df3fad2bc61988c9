import { readPace } from '../../src/client/pace.ts';
import { holdSuspects, listHeldRows } from '../../src/mirror/suspects.ts';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { settingsWith } from '../config/settings-with.ts';
import type { JobState, WorkerState } from '../../src/job/worker-state.ts';
import { writeCertificateFile } from '../../src/erasure/proof/certificate-file.ts';
import { entriesPath, ledgerFolder } from '../../src/ledger/entry-file.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { editRequest } from '../mirror/edit-request.ts';
import { plantRequest } from '../mirror/plant-request.ts';
import type { Database } from '../../src/mirror/database.ts';
import { writeLease } from '../../src/mirror/lease-rows.ts';
import { finishPass, startPass } from '../../src/mirror/passes.ts';
import { openRequestTimes } from '../../src/mirror/request-times.ts';
import { finishRun, listRuns, startRun, type RunOutcome } from '../../src/mirror/runs.ts';
import { currentPath } from '../snapshot/paths.ts';
import { alertWords } from '../../src/status/alert-words.ts';
import { gatherOverview } from '../../src/status/gather-overview.ts';
import type { ProjectContent } from '../../src/status/overview.ts';
import { exportCount } from '../export/export-fixture.ts';
import { acquireLease } from '../job/take-lease.ts';
import { newJob } from '../job/worker-states.ts';
import { alertOf } from '../../src/worker/alerts.ts';
import { freshFolder, openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';
import { virtualClock } from '../core/virtual-clock.ts';
import type { Lane } from '../../src/contract/datasets.ts';

const nowMs = stillClock.now();
const hourMs = 3_600_000;
const before = (ms: number): string => new Date(nowMs - ms).toISOString();

const fullJob: JobState = { ...newJob, nextAt: before(-hourMs) };

const service = { baseUrl: null, projectId: null, keyFrom: '`MIRROR_API_KEY`' };

/** An overview of one project whose data folder this is. */
function overviewOf(
  dataDir: string,
  mirror?: ReturnType<typeof openTestMirror>,
  problem: string | null = null,
  namesHeld = false,
) {
  const settings = settingsWith({ dataDir });
  const worker: WorkerState = {
    startedAt: before(hourMs),
    projects: [{ name: 'shop', service, dataDir, problem, jobs: [fullJob], condition: null, alerts: [] }],
  };
  return gatherOverview({
    version: '1.2.3',
    worker: () => worker,
    sourceOf: () => (mirror ? { db: () => mirror.db, settings } : undefined),
    nowMs: () => nowMs,
    namesHeld,
    pause: () => Promise.resolve(),
  });
}

async function contentOf(mirror: ReturnType<typeof openTestMirror>): Promise<ProjectContent> {
  const [project] = (await overviewOf(mirror.dataDir, mirror)).projects;
  if (!project?.content) throw new Error('nothing could be read');
  return project.content;
}

/** Records a run that began so long ago and took a second. */
function makeRun(db: Database, job: string, agoMs: number, outcome: RunOutcome, counts = {}): void {
  const id = startRun(db, job, before(agoMs));
  finishRun(db, { id, outcome, reason: null, requests: 3, counts, at: before(agoMs - 1000) });
}

test('without a mirror there is nothing to show, and nothing is made', async () => {
  const dataDir = freshFolder();
  expect(await overviewOf(dataDir)).toEqual({
    at: before(0),
    version: '1.2.3',
    startedAt: before(hourMs),
    projects: [
      { name: 'shop', service, dataDir, problem: null, jobs: [fullJob], condition: null, alerts: [], content: null },
    ],
  });
});

test('a new mirror has lists that were never seen, where a job is to see them', async () => {
  const { lists, runs, ledger, snapshots, openRequests } = await contentOf(openTestMirror());
  expect(lists).toEqual(
    // Nothing walks the whole of the recordings here: nobody is to wait for that.
    ['persons'].map((dataset) => ({
      dataset,
      rows: 0,
      completeAsOf: null,
      lookedAt: null,
      limitMs: 48 * hourMs,
      state: 'never',
    })),
  );
  expect({ runs, ledger, snapshots, openRequests }).toEqual({
    runs: [],
    ledger: null,
    snapshots: [],
    openRequests: [],
  });
});

test('a list is as fresh as the beginning of its last complete pass, whatever came after', async () => {
  const mirror = openTestMirror();
  const { db } = mirror;
  const makePass = (agoMs: number, reason: 'seam_not_joined' | null): void => {
    const id = startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at: before(agoMs) });
    finishPass(db, id, reason, before(agoMs - hourMs));
  };
  makePass(50 * hourMs, null);
  makePass(20 * hourMs, 'seam_not_joined');
  startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at: before(hourMs) });
  expect((await contentOf(mirror)).lists[0]).toMatchObject({ completeAsOf: before(50 * hourMs), state: 'stale' });
  makePass(10 * hourMs, null);
  expect((await contentOf(mirror)).lists[0]).toMatchObject({
    completeAsOf: before(10 * hourMs),
    lookedAt: before(9 * hourMs),
    state: 'fresh',
  });
  // A clock that was ahead has told it.
  makePass(-50 * hourMs, null);
  expect((await contentOf(mirror)).lists[0]).toMatchObject({ completeAsOf: before(-50 * hourMs), state: 'stale' });
});

test('a list that was looked at, but never as a whole, says so, also while the next pass runs', async () => {
  const mirror = openTestMirror();
  const { db } = mirror;
  const start = (agoMs: number): number =>
    startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at: before(agoMs) });
  const first = start(3 * hourMs);
  expect((await contentOf(mirror)).lists[0]).toMatchObject({ state: 'never', lookedAt: null });
  finishPass(db, first, 'count_not_reached', before(2 * hourMs));
  for (const act of [(): void => undefined, (): void => void start(hourMs)]) {
    act();
    const [list] = (await contentOf(mirror)).lists;
    expect(list).toMatchObject({ state: 'incomplete', completeAsOf: null, lookedAt: before(2 * hourMs) });
  }
});

test('the newest runs, those of the last day, and what each job has come to so far', async () => {
  const mirror = openTestMirror();
  const { db } = mirror;
  makeRun(db, 'checkpoint', 72 * hourMs, 'done');
  makeRun(db, 'full', 30 * hourMs, 'done');
  makeRun(db, 'full', 2 * hourMs, 'failed');
  await acquireLease(db, 'head', { ...stillClock, now: () => Date.parse(before(1000)) });
  startRun(db, 'head', before(1000));
  const { runs, runGroups, histories, snapshotsCheckedAt } = await contentOf(mirror);
  expect(runs.map(({ job, outcome, finishedAt }) => [job, outcome, finishedAt])).toEqual([
    ['head', 'running', null],
    ['full', 'failed', before(2 * hourMs - 1000)],
    ['full', 'done', before(30 * hourMs - 1000)],
    ['checkpoint', 'done', before(72 * hourMs - 1000)],
  ]);
  expect(runGroups.map(({ job }) => job)).toEqual(['head', 'full']);
  expect(histories).toEqual([
    {
      job: 'checkpoint',
      outcomes: { done: 1 },
      requests: 3,
      lastEndAt: before(72 * hourMs - 1000),
      lastDoneAt: before(72 * hourMs - 1000),
    },
    {
      job: 'full',
      outcomes: { done: 1, failed: 1 },
      requests: 6,
      lastEndAt: before(2 * hourMs - 1000),
      lastDoneAt: before(30 * hourMs - 1000),
    },
    { job: 'head', outcomes: { running: 1 }, requests: 0, lastEndAt: null, lastDoneAt: null },
  ]);
  expect(snapshotsCheckedAt).toBe(before(72 * hourMs - 1000));
});

test('passes, runs and who works are told as they stand', async () => {
  const mirror = openTestMirror();
  const { db } = mirror;
  const at = before(hourMs);
  finishPass(db, startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at }), 'seam_not_joined', at);
  startPass(db, { dataset: 'persons', mode: 'head', plan: '{}', at });
  startRun(db, 'export', at);
  await acquireLease(db, 'export', { ...stillClock, now: () => Date.parse(at) });
  const { passes, runs, lease } = await contentOf(mirror);
  expect(passes.map(({ mode, verdict, reason }) => [mode, verdict, reason])).toEqual([
    ['full', 'incomplete', 'seam_not_joined'],
    ['head', 'unfinished', null],
  ]);
  expect(runs).toMatchObject([{ job: 'export', outcome: 'running' }]);
  expect(lease).toMatchObject({ job: 'export', pid: process.pid, takenAt: at });
});

test.each([
  ['no lease', () => Promise.resolve()],
  [
    'the row of a process that was killed',
    (db: Database) => {
      writeLease(db, { holder: 'a', job: 'export', host: 'here', pid: 1, takenAt: before(hourMs) });
      return Promise.resolve();
    },
  ],
  ['the lease of another job', (db: Database) => acquireLease(db, 'audit', stillClock)],
])(
  'with %s, a run without an end has died and its pass is unfinished',
  async (what, take: (db: Database) => Promise<unknown>) => {
    const mirror = openTestMirror();
    const { db } = mirror;
    await take(db);
    startRun(db, 'export', before(hourMs));
    startPass(db, { dataset: 'recordings', mode: 'full', plan: '{}', at: before(hourMs) });
    const { runs, passes, lease, histories } = await contentOf(mirror);
    expect(runs).toMatchObject([{ job: 'export', outcome: 'interrupted', reason: 'died' }]);
    expect(passes).toMatchObject([{ verdict: 'unfinished' }]);
    expect(lease?.job).toBe(what === 'the lease of another job' ? 'audit' : undefined);
    expect(histories).toMatchObject([{ outcomes: { interrupted: 1 } }]);
    // A reader writes nothing: the next run records it.
    expect(listRuns(db, 1)).toMatchObject([{ outcome: null }]);
  },
);

test('of thousands of runs a day, the newest are shown and the others grouped by the hour', async () => {
  const mirror = openTestMirror();
  const { db } = mirror;
  const outcomes = ['done', 'failed', 'incomplete', 'held', 'interrupted'] as const;
  const insert = db.prepare(
    `INSERT INTO runs (job, started_at, finished_at, outcome, requests) VALUES (?, ?, ?, ?, 1)`,
  );
  db.transaction(() => {
    for (let index = 6000; index > 0; index -= 1) {
      const at = before(index * 14_000);
      insert.run(`job-${index % 7}`, at, at, outcomes[index % 5]);
    }
  })();
  const { runs, runGroups } = await contentOf(mirror);
  expect(runs).toHaveLength(12);
  expect(runGroups).toHaveLength(240);
  expect(runGroups[0]?.finishedAt).toBe(before(14_000));
  const shown = runGroups.reduce((sum, { count }) => sum + count, 0);
  expect(runGroups.reduce((sum, { requests }) => sum + requests, 0)).toBe(shown);
});

test('published files count as checked by a checkpoint that found all of them whole, and by nothing else', async () => {
  const mirror = openTestMirror();
  const { db } = mirror;
  makeRun(db, 'drill', 2 * hourMs, 'done');
  makeRun(db, 'export', hourMs, 'done');
  expect((await contentOf(mirror)).snapshotsCheckedAt).toBeNull();
  makeRun(db, 'checkpoint', 30 * hourMs, 'done');
  makeRun(db, 'checkpoint', 6 * hourMs, 'incomplete');
  expect((await contentOf(mirror)).snapshotsCheckedAt).toBe(before(30 * hourMs - 1000));
});

test('requests are counted against each window', async () => {
  const mirror = openTestMirror();
  const clock = virtualClock();
  const requests = { general: 0, 'recordings list': 0 };
  const times = openRequestTimes(mirror.db, clock, { ms: 2 * hourMs, requests, timeoutMs: 1000, readPace });
  const makeRequest = async (lane: Lane, endedAtMs: number): Promise<void> => {
    clock.setTo(endedAtMs - 1);
    const end = await times.tryToBegin(lane, () => 0);
    if (typeof end === 'function') await end();
  };
  for (const [lane, agoMs] of [
    ['general', 61 * 60_000],
    ['recordings list', 59.5 * 60_000],
    ['recordings list', 61_000],
    ['general', 60_500],
    ['general', 59_000],
    ['general', 10],
  ] as const)
    await makeRequest(lane, nowMs - agoMs);
  // One that is under way ends later than now.
  clock.setTo(nowMs);
  await times.tryToBegin('general', () => 0);
  const { windows } = await contentOf(mirror);
  expect(windows).toEqual([
    { lane: 'general', requests: 240, perSeconds: 60, used: 3 },
    { lane: 'general', requests: 1200, perSeconds: 3600, used: 6 },
    { lane: 'recordings list', requests: 60, perSeconds: 60, used: 0 },
    { lane: 'recordings list', requests: 300, perSeconds: 3600, used: 2 },
  ]);
});

test('open requests stand by urgency, without a word that somebody wrote', async () => {
  const mirror = openTestMirror();
  const { db } = mirror;
  const add = (number: number, dueInMs: number, change: Parameters<typeof editRequest>[2]): void => {
    const id = `0000000${number}-0000-4000-8000-000000000000`;
    const who = { basis: 'ann@example.com asked', authorisedBy: 'ann@example.com' };
    plantRequest(db, { id, ...who, receivedAt: before(hourMs), dueAt: before(-dueInMs), box: Buffer.from('x') });
    editRequest(db, id, change);
  };
  add(1, 5 * hourMs, { state: 'executing' });
  add(2, hourMs, { state: 'awaiting_upstream', eventsExpectedBy: before(-hourMs) });
  add(3, 9 * hourMs, { state: 'held', heldAt: before(0), reason: 'too_many' });
  add(4, 9 * hourMs, { state: 'attention', reason: 'written by Ann' as never });
  add(5, 9 * hourMs, { state: 'certified', certifiedAt: before(0) });
  add(6, 9 * hourMs, { state: 'sealed', sealedAt: before(0) });
  const content = await contentOf(mirror);
  expect(content.openRequests.map(({ id, reasons }) => [id.slice(7, 8), reasons])).toEqual([
    ['4', []],
    ['3', ['too_many']],
    ['2', []],
    ['1', []],
  ]);
  expect(JSON.stringify(content)).not.toMatch(/ann|Ann/);
});

test('a request whose receipt a clock ahead has dated is overdue, and before those that are not', async () => {
  const mirror = openTestMirror();
  const add = (id: string, receivedAgoMs: number): void => {
    const times = { receivedAt: before(receivedAgoMs), dueAt: before(receivedAgoMs - 720 * hourMs) };
    for (const isAccess of [false, true])
      plantRequest(mirror.db, { id: `${id}${Number(isAccess)}`, isAccess, ...times, box: Buffer.from('x') });
  };
  add('ahead', -hourMs);
  add('own', -1000);
  const content = await contentOf(mirror);
  const { erasure, openRequests } = content;
  const dated = 'is overdue, as its receipt is dated 2026-01-01 01:00 UTC: received';
  expect(alertWords(alertOf('overdue', ''), content, before(0)).todo).toMatch(`Request ahead0 ${dated}`);
  expect(erasure).toMatchObject({ open: 2, overdue: 1, access: { open: 2, overdue: 1 } });
  expect(openRequests.map(({ id }) => id)).toEqual(['ahead0', 'own0']);
});

test('ended requests are named, the newest first, where the file of their certificate is here', async () => {
  const mirror = openTestMirror();
  const { db, dataDir } = mirror;
  for (const number of [1, 2, 3, 4]) {
    const id = `0000000${number}-0000-4000-8000-000000000000`;
    plantRequest(db, { id, receivedAt: before(9 * hourMs), dueAt: before(-hourMs) });
    editRequest(db, id, { state: number === 4 ? 'attention' : 'sealed', certifiedAt: before(number * hourMs) });
    if (number !== 2) writeCertificateFile(dataDir, { request: id, generation: 1 }, '{}', () => false);
  }
  const { certified } = await contentOf(mirror);
  expect(certified.map(({ id }) => id.slice(7, 8))).toEqual(['1', '3']);
  expect(certified[0]).toMatchObject({ certifiedAt: before(hourMs), receivedAt: before(9 * hourMs) });
});

test('snapshots and ledger are shown as they are, and damage to either hides nothing else', async () => {
  const mirror = openTestMirror();
  const { dataDir } = mirror;
  const { snapshotId } = await exportCount(dataDir, 10);
  const ledger = openLedger(dataDir, stillClock);
  ledger.checkpoint();
  expect((await contentOf(mirror)).snapshots).toMatchObject([
    { dataset: 'distinct_ids', snapshotId, rows: 10, files: 3, verdict: 'complete' },
  ]);
  makeRun(mirror.db, 'export', nowMs, 'done', { distinct_ids: 4 });
  rmSync(currentPath(dataDir));
  expect((await contentOf(mirror)).snapshots).toBeNull();
  rmSync(dirname(currentPath(dataDir)), { recursive: true });
  mkdirSync(dirname(currentPath(dataDir)));
  expect((await contentOf(mirror)).snapshots).toBeNull();
  writeFileSync(currentPath(dataDir), 'damaged');
  rmSync(entriesPath(ledgerFolder(dataDir)), { force: true, recursive: true });
  const { snapshots, lists } = await contentOf(mirror);
  expect(snapshots).toBeNull();
  expect(lists).toHaveLength(1);
});

test('an export that found nothing new is told, so that nothing looks stale because nothing has changed', async () => {
  const mirror = openTestMirror();
  await exportCount(mirror.dataDir, 4);
  // The snapshot is published the day before.
  const agoMs = (day: number): number => nowMs - Date.UTC(2026, 10, day);
  const unchangedAt = async () => (await contentOf(mirror)).snapshots?.map((one) => one.unchangedAt);
  makeRun(mirror.db, 'export', agoMs(20), 'done', { distinct_ids: 4 });
  expect(await unchangedAt()).toEqual([null]);
  makeRun(mirror.db, 'delta', agoMs(21), 'done', { distinct_ids: 4 });
  makeRun(mirror.db, 'export', agoMs(22), 'done', { persons: 4 });
  makeRun(mirror.db, 'export', agoMs(23), 'failed');
  expect(await unchangedAt()).toEqual(['2026-11-21T00:00:00.000Z']);
});

test('a mirror that cannot be read is a problem of its project alone', async () => {
  const mirror = openTestMirror();
  mirror.db.exec('DROP TABLE runs');
  expect((await overviewOf(mirror.dataDir, mirror)).projects[0]).toMatchObject({
    content: null,
    problem: 'SQLITE_ERROR',
  });
});

test('the rows of a held plan are named only where the page asks for a token', async () => {
  const mirror = openTestMirror();
  const { db } = mirror;
  for (const index of [3, 1, 2])
    db.prepare(/*sql*/ `INSERT INTO persons (row_key, uuid, id, created_at, properties, extra, first_seen_pass, changed_at)
      VALUES (?, ?, ?, '2026-01-01T00:00:00Z', '{}', '{}', 1, '2026-01-01T00:00:00Z')`).run(index, `u${index}`, index);
  db.prepare(/*sql*/ `INSERT INTO suspects (dataset, row_key, nominated_pass, nominated_at)
    SELECT 'persons', row_key, 1, '2026-01-01T00:00:00Z' FROM persons`).run();
  const plan = { plan: 'p1', dataset: 'persons', rows: 2, rowsTotal: 3, heldAt: before(0) } as const;
  holdSuspects(db, plan, [1, 3]);
  const keysWith = async (namesHeld: boolean) => {
    const [project] = (await overviewOf(mirror.dataDir, mirror, null, namesHeld)).projects;
    return project?.content?.held.map(({ keys }) => keys);
  };
  expect(await keysWith(true)).toEqual([['u1', 'u3']]);
  expect(await keysWith(false)).toEqual([[]]);
  db.prepare(
    /*sql*/ `UPDATE persons SET name = 'Ann', properties = '{"email":"ann@x.example"}' WHERE uuid = 'u1'`,
  ).run();
  db.prepare(/*sql*/ `UPDATE persons SET distinct_ids = '["device-7"]' WHERE uuid = 'u3'`).run();
  expect(listHeldRows(db, plan, 20)).toEqual([
    { key: 'u1', known: 'Ann, ann@x.example' },
    { key: 'u3', known: 'device-7' },
  ]);
});
