import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { AppError } from '../../src/core/errors.ts';
import { ledgerFolder } from '../../src/ledger/entry-file.ts';
import { enterQueue, readLease, readQueue } from '../../src/mirror/lease-rows.ts';
import { listRuns, startRun } from '../../src/mirror/runs.ts';
import { runJob, type JobResult } from '../../src/job/run-job.ts';
import type { Service } from '../../src/client/service.ts';
import { settingsWith } from '../config/settings-with.ts';
import type { JobContext } from '../../src/job/job-context.ts';
import { jobContext } from './job-context.ts';
import { acquireLease } from './take-lease.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

const done = (): Promise<JobResult> => Promise.resolve({ outcome: 'done', counts: {} });

function setUp() {
  const { db, dataDir } = openTestMirror();
  const settings = settingsWith({ dataDir });
  const sent = { requests: 7 };
  const service = { requestCount: () => sent.requests } as Service;
  const context = jobContext({ db, settings, clock: stillClock }, { service });
  const run = (work: (own: JobContext) => Promise<JobResult>): Promise<JobResult> => runJob(context, 'sync', work);
  return { db, context, run, sent };
}

it('records what a run did, and gives the lease back', async () => {
  const { db, run } = setUp();
  await run(() => {
    expect(readLease(db)).toMatchObject({ job: 'sync', pid: process.pid });
    return Promise.resolve({ outcome: 'done', counts: { persons: 3 } });
  });
  expect(listRuns(db, 9)).toMatchObject([{ job: 'sync', outcome: 'done', reason: null, counts: '{"persons":3}' }]);
  expect(readLease(db)).toBeUndefined();
});

it('counts the requests of the run, and no earlier ones', async () => {
  const { db, run, sent } = setUp();
  await run(() => {
    sent.requests += 2;
    return done();
  });
  expect(listRuns(db, 9)).toMatchObject([{ requests: 2 }]);
});

it('opens the ledger once a run, when the job first asks for it', async () => {
  const { run } = setUp();
  const ledgers: unknown[] = [];
  for (let runs = 0; runs < 2; runs += 1)
    await run(({ ledger, settings }) => {
      if (runs === 0) expect(existsSync(ledgerFolder(settings.dataDir))).toBe(false);
      ledgers.push(ledger(), ledger());
      return done();
    });
  expect(ledgers[0]).toBe(ledgers[1]);
  expect(ledgers[2]).toBe(ledgers[3]);
  expect(ledgers[0]).not.toBe(ledgers[2]);
});

it('records what a run found', async () => {
  const { db, run } = setUp();
  await run(() => Promise.resolve({ outcome: 'incomplete', reason: 'files_damaged', counts: {} }));
  expect(listRuns(db, 9)).toMatchObject([{ outcome: 'incomplete', reason: 'files_damaged' }]);
});

it.each([
  [new AppError('no', { code: 'refused' }), 'failed', 'refused'],
  [new AppError('stop', { code: 'interrupted' }), 'interrupted', 'interrupted'],
  [new TypeError('bug with ann@example.com'), 'failed', 'unexpected'],
])('records how a run failed, by code and never by words: %s', async (error, outcome, reason) => {
  const { db, run } = setUp();
  await expect(run(() => Promise.reject(error))).rejects.toBe(error);
  expect(listRuns(db, 9)).toMatchObject([{ outcome, reason, counts: '{}' }]);
  expect(readLease(db)).toBeUndefined();
});

it('marks a run that died without a word as interrupted', async () => {
  const { db, run } = setUp();
  db.exec(`INSERT INTO runs (job, started_at) VALUES ('sync', '2025-12-31T00:00:00.000Z')`);
  await run(done);
  expect(listRuns(db, 9)).toMatchObject([{ outcome: 'done' }, { outcome: 'interrupted', reason: 'died' }]);
});

const now = new Date(stillClock.now()).toISOString();

it('gives way to those who wait, takes a turn before whoever comes later, and lets no second pass in', async () => {
  const { db, context, sent } = setUp();
  const patient = { ...context, clock: { ...stillClock, sleep: () => delay(1) } };
  const order: string[] = [];
  const others: Promise<unknown>[] = [];
  const guest = (job: string, meanwhile?: () => void): unknown =>
    others.push(
      runJob(patient, job, (own) => {
        order.push(job);
        own.ledger().append([{ type: 'differs', part: 'fence', items: 1 }]);
        sent.requests += 3;
        meanwhile?.();
        return done();
      }),
    );
  await runJob(patient, 'sync', async ({ turn, ledger }) => {
    expect([turn?.isWanted(), ledger().size()]).toEqual([false, 0]);
    guest('erase', () => guest('reconcile'));
    guest('export');
    others.push(runJob({ ...patient, wait: true }, 'head', () => (order.push('head'), done())));
    for (let page = 1; page <= 9 && turn?.isWanted() === true; page += 1) {
      order.push('page');
      await turn.giveWay();
    }
    await expect(runJob(context, 'full', done)).rejects.toMatchObject({ code: 'busy' });
    expect(ledger().size()).toBe(3);
    return done();
  });
  await Promise.all(others);
  expect(order).toEqual(['page', 'erase', 'export', 'page', 'reconcile', 'head']);
  const runs = listRuns(db, 9);
  expect(runs.map(({ job, outcome, requests }) => `${job} ${outcome} ${requests}`)).toEqual([
    'head done 0',
    'reconcile done 3',
    'export done 3',
    'erase done 3',
    'sync done 0',
  ]);
  expect(runs.at(-1)?.counts).toBe('{"gaveWay":2,"awaySeconds":0}');
  expect(readQueue(db)).toEqual([]);
});

it('knows the time that the service has told before others of this process had their turn, and none of a run before', async () => {
  const { context } = setUp();
  const told = { isKnown: false };
  const service = { ...context.service, forgetTime: () => void (told.isKnown = false) };
  const patient = { ...context, service, clock: { ...stillClock, sleep: () => delay(1) } };
  await runJob(patient, 'sync', async ({ turn }) => {
    told.isKnown = true;
    const guest = runJob(patient, 'export', done);
    await turn?.giveWay();
    await guest;
    expect(told.isKnown).toBe(true);
    return done();
  });
  await runJob(patient, 'export', () => (expect(told.isKnown).toBe(false), done()));
});

it('does not wait for a guest or a pass that is silent', async () => {
  const { db, run } = setUp();
  const beatAt = new Date(stillClock.now() - 16_000).toISOString();
  startRun(db, 'full', now);
  for (const [job, hasBegun] of [
    ['erase', false],
    ['full', true],
  ] as const)
    enterQueue(db, { holder: job, job, host: 'here', pid: 1, takenAt: now, beatAt, hasBegun });
  await run(({ turn }) => (expect(turn?.isWanted()).toBe(false), done()));
  expect(listRuns(db, 9).at(-1)).toMatchObject({ job: 'full', reason: 'died' });
});

it('as a guest, waits for a minute', async () => {
  const { db, context } = setUp();
  const lease = await acquireLease(db, 'sync', stillClock);
  let nowMs = stillClock.now();
  const sleep = (ms: number): Promise<void> => {
    expect(readQueue(db)).toMatchObject([{ job: 'erase', pid: process.pid, hasBegun: false }]);
    nowMs += ms;
    return Promise.resolve();
  };
  const result = runJob({ ...context, clock: { now: () => nowMs, sleep } }, 'erase', done);
  await expect(result).rejects.toMatchObject({ code: 'busy' });
  expect(nowMs - stillClock.now()).toBe(60_000);
  expect(readQueue(db)).toEqual([]);
  lease.release();
});

it('a drill waits for its turn, as an erasure does; a pass is refused at once', async () => {
  const { db, context } = setUp();
  const lease = await acquireLease(db, 'drill', stillClock);
  await expect(runJob(context, 'sync', done)).rejects.toMatchObject({ code: 'busy' });
  const waiting = ['drill', 'erase'].map((job) => runJob({ ...context, clock: systemClock }, job, done));
  await expect.poll(() => readQueue(db)).toHaveLength(2);
  lease.release();
  await expect(Promise.all(waiting)).resolves.toMatchObject([{ outcome: 'done' }, { outcome: 'done' }]);
});
