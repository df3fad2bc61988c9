import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { ledgerFolder } from '../../src/ledger/entry-file.ts';
import { enterQueue, readQueue } from '../../src/mirror/lease-queue.ts';
import { beatLease, readLease, takeLease, listRuns, startRun } from '../../src/mirror/runs.ts';
import { processSpace } from '../../src/job/lease.ts';
import { runJob, type JobResult } from '../../src/job/run-job.ts';
import type { Service } from '../../src/client/service.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { JobContext } from '../../src/job/job-context.ts';
import { jobContext } from './job-context.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

function setUp() {
  const { db, dataDir } = openTestMirror();
  const { settings } = loadSettings({}, { set: [{ path: 'dataDir', value: dataDir }] });
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
    return Promise.resolve({ outcome: 'done', counts: {} });
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
      return Promise.resolve({ outcome: 'done', counts: {} });
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
  await run(() => Promise.resolve({ outcome: 'done', counts: {} }));
  expect(listRuns(db, 9)).toMatchObject([{ outcome: 'done' }, { outcome: 'interrupted', reason: 'died' }]);
});

const now = new Date(stillClock.now()).toISOString();
const lately = new Date(stillClock.now() - 59_000).toISOString();
const longAgo = new Date(stillClock.now() - 61_000).toISOString();

it.each([
  ['a living process of this machine', { host: processSpace(), pid: process.ppid, beatAt: now }, true],
  ['a process of another machine that beat lately', { host: 'elsewhere', pid: 1, beatAt: lately }, true],
  ['a process of another machine that is silent', { host: 'elsewhere', pid: 1, beatAt: longAgo }, false],
  ['a dead process of this machine', { host: processSpace(), pid: 2 ** 22 - 1, beatAt: now }, false],
  ['an earlier process with our own number', { host: processSpace(), pid: process.pid, beatAt: now }, false],
  [
    'a living process whose number nobody has in our pid namespace, by the same host name',
    { host: `${hostname()} (0badcafe)`, pid: 2 ** 22 - 1, beatAt: lately },
    true,
  ],
  [
    'the first process of another container, as we are of ours, by the same host name',
    { host: `${hostname()} (0badcafe)`, pid: process.pid, beatAt: lately },
    true,
  ],
  [
    'a process of another container that is silent',
    { host: `${hostname()} (0badcafe)`, pid: process.ppid, beatAt: longAgo },
    false,
  ],
])('knows whether the lease is held: %s', async (_who, { host, pid, beatAt }, isHeld) => {
  const { db, run } = setUp();
  takeLease(
    db,
    { holder: 'other', job: 'export', host, pid, processStart: null, takenAt: beatAt, beatAt },
    () => false,
  );
  const result = run(() => Promise.resolve({ outcome: 'done', counts: {} }));
  const outcome = await result.then(
    () => 'ran',
    (error: unknown) => (error instanceof AppError ? error.code : error),
  );
  expect(outcome).toBe(isHeld ? 'busy' : 'ran');
  expect(readLease(db)?.holder).toBe(isHeld ? 'other' : undefined);
});

it('a run that lost the lease while it was silent changes neither the ledger nor a published file', async () => {
  const { db, run } = setUp();
  const refusals: unknown[] = [];
  const result = run(async (own) => {
    const snapshot = { dataset: 'persons', snapshotId: 'x' };
    const ledger = own.ledger();
    const { db: other } = openTestMirror(dirname(db.name));
    const present = { holder: 'other', job: 'export', host: 'elsewhere', pid: 1, processStart: null };
    takeLease(other, { ...present, takenAt: now, beatAt: now }, () => true);
    for (const write of [
      () => ledger.append([]),
      () => ledger.checkpoint(),
      () => own.published.writeCurrent({ format_version: 1, snapshots: {} }),
      () => own.published.addSnapshot(snapshot, []),
      () => own.published.addParts(snapshot, []),
      () => own.published.removeFiles(snapshot, []),
    ])
      try {
        write();
        refusals.push('written');
      } catch (error) {
        refusals.push(error instanceof AppError ? error.code : error);
      }
    return Promise.resolve({ outcome: 'done', counts: {} });
  });
  await expect(result).rejects.toMatchObject({ code: 'busy' });
  expect(refusals).toEqual(Array.from({ length: 6 }, () => 'busy'));
});

const done = (): Promise<JobResult> => Promise.resolve({ outcome: 'done', counts: {} });

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

it.each([
  ['is gone', { pid: 2 ** 22 - 1, beatAt: now }, 'died'],
  ['is stopped, and silent', { pid: process.ppid, beatAt: new Date(stillClock.now() - 16_000).toISOString() }, null],
])('does not wait for a guest or a pass that %s', async (_how, waiter, reason) => {
  const { db, run } = setUp();
  startRun(db, 'full', now);
  for (const [job, hasBegun] of [
    ['erase', false],
    ['full', true],
  ] as const)
    enterQueue(db, { holder: job, job, host: processSpace(), processStart: null, takenAt: now, hasBegun, ...waiter });
  await run(({ turn }) => (expect(turn?.isWanted()).toBe(false), done()));
  // What only stands still has not died.
  expect(listRuns(db, 9).at(-1)).toMatchObject({ job: 'full', reason });
});

it('as a guest, waits for a minute', async () => {
  const { db, context } = setUp();
  const other = { holder: 'other', job: 'sync', host: 'elsewhere', pid: 1, processStart: null };
  takeLease(db, { ...other, takenAt: now, beatAt: now }, () => false);
  let nowMs = stillClock.now();
  const sleep = (ms: number): Promise<void> => {
    expect(readQueue(db)).toMatchObject([{ job: 'erase', pid: process.pid, hasBegun: false }]);
    beatLease(db, 'other', new Date((nowMs += ms)).toISOString());
    return Promise.resolve();
  };
  const result = runJob({ ...context, clock: { now: () => nowMs, sleep } }, 'erase', done);
  await expect(result).rejects.toMatchObject({ code: 'busy' });
  expect(nowMs - stillClock.now()).toBe(60_000);
  expect(readQueue(db)).toEqual([]);
});
