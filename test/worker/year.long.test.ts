import { expect, it } from 'vitest';
import { nextBatchAfter } from '../../src/contract/weekly-batch.ts';
import { AppError } from '../../src/core/errors.ts';
import { createLogger } from '../../src/log/logger.ts';
import type { AlertChange } from '../../src/worker/alerts.ts';
import { startWorker, type Worker } from '../../src/worker/worker.ts';
import { virtualClock } from '../core/virtual-clock.ts';
import { fakeProject, type FakeProject } from './fake-project.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const startMs = Date.UTC(2026, 0, 1);
const endMs = startMs + 365 * day;
const log = createLogger({ level: 'silent', isTerminal: false });

const schedule = {
  reconcile: '20 * * * *',
  full: '0 2 * * *',
  recordings: '0 3 * * *',
  head: '*/30 * * * *',
  export: '0 4 * * *',
  checkpoint: '10 5 * * *',
};
const dueDays = 30;

/** When what is so, in days of the year. */
const outage = { from: 40, to: 47 };
const fullDisk = { from: 100, to: 101 };
const revokedKey = { from: 150, to: 153 };
/** The machine is off, longer than any schedule waits. */
const machineOff = { from: 200, to: 203 };

it('a year with an outage, a full disk, a revoked key, restarts and kills ends healthy, with the right alerts', async () => {
  const clock = virtualClock(startMs);
  const dayOfYear = (): number => (clock.now() - startMs) / day;
  const isIn = ({ from, to }: { from: number; to: number }): boolean => dayOfYear() >= from && dayOfYear() < to;

  // Requests to erase people: events leave with the service's weekly batch, and only while somebody asks for it.
  const requests: { dueMs: number; batchMs: number | null; isDone: boolean }[] = [];
  let snapshots = 0;
  const project = fakeProject(clock, schedule, {
    work: (job) => {
      const needsService = job !== 'export' && job !== 'checkpoint' && job !== 'drill';
      if (needsService && isIn(outage))
        return { ms: 10 * minute, ends: new AppError('no answer', { code: 'unreachable' }) };
      if (needsService && isIn(revokedKey)) return { ms: 1000, ends: new AppError('no', { code: 'refused' }) };
      if (job === 'export') snapshots = Math.min(snapshots + 1, 3);
      if (job === 'reconcile')
        for (const request of requests) {
          request.isDone = request.batchMs !== null && request.batchMs < clock.now();
          request.batchMs ??= nextBatchAfter(clock.now());
        }
      return { ms: job === 'full' ? 40 * minute : minute };
    },
  });
  const { run } = project;
  let unrecorded = 0;
  project.run = (job, signal) => {
    if (!isIn(fullDisk)) return run(job, signal);
    unrecorded += 1;
    return Promise.reject(Object.assign(new Error('full'), { code: 'SQLITE_FULL' }));
  };
  const { readCondition } = project;
  project.readCondition = () => ({
    ...readCondition(),
    diskFreeBytes: isIn(fullDisk) ? 0 : 5e9,
    overdueRequests: requests.filter(({ isDone, dueMs }) => !isDone && dueMs < clock.now()).length,
  });

  const alerts: AlertChange[] = [];
  const start = (): Worker =>
    startWorker({
      projects: [project],
      clock,
      log,
      projectsAtOnce: 2,
      onAlert: (change) => alerts.push(change),
      waitMaxMs: hour,
    });
  const resourcesBefore = process.getActiveResourcesInfo().length;
  let worker = start();
  let sleepingMost = 0;
  for (let today = 1; clock.now() < endMs; today += 1) {
    await clock.settle(clock.sleep(startMs + today * day - clock.now()));
    if (today % 2 === 0) requests.push({ dueMs: clock.now() + dueDays * day, batchMs: null, isDone: false });
    sleepingMost = Math.max(sleepingMost, clock.sleeping());
    // Restarted every tenth day, and killed in the middle of whatever it does every thirty-first.
    const isOff = today === machineOff.from;
    if (today % 10 !== 0 && today % 31 !== 0) continue;
    await clock.settle(worker.stop(25_000));
    if (isOff) {
      await clock.settle(clock.sleep((machineOff.to - machineOff.from) * day));
      today = machineOff.to;
    }
    if (today % 31 === 0) leaveDead(project, clock.now());
    worker = start();
  }
  const state = worker.state().projects[0];
  expect(await clock.settle(worker.stop(25_000))).toBe(true);

  expect(state).toMatchObject({ problem: null, alerts: [] });
  expect(state?.jobs.map(({ consecutiveFailures }) => consecutiveFailures)).toEqual([0, 0, 0, 0, 0, 0]);
  const told = alerts.map(({ event, alert: { kind, job }, at }) => ({
    what: `${event} ${kind}${job === null ? '' : ` ${job}`}`,
    day: (Date.parse(at) - startMs) / day,
  }));
  // Whatever was restarted meanwhile, nothing is told of twice.
  for (const [what, changes] of Map.groupBy(alerts, ({ alert: { kind, job } }) => `${kind} ${job}`)) {
    const events = changes.map(({ event }) => event);
    expect([what, ...events]).toEqual([what, ...events.map((_event, index) => (index % 2 === 0 ? 'began' : 'ended'))]);
  }
  const within = (from: number, to: number): string[] =>
    [...new Set(told.filter(({ day }) => day >= from && day < to).map(({ what }) => what))].toSorted();
  const both = (...whats: string[]): string[] =>
    ['began', 'ended'].flatMap((event) => whats.map((what) => `${event} ${what}`)).toSorted();
  const serviceJobs = ['reconcile', 'full', 'recordings', 'head'];
  const stale = serviceJobs.map((job) => `stale ${job}`);
  expect(within(0, outage.from)).toEqual([]);
  expect(within(outage.from, outage.to + 2)).toEqual(both('unreachable', ...stale));
  expect(within(outage.to + 2, fullDisk.from)).toEqual([]);
  const allJobs = Object.keys(schedule).flatMap((job) => [`failing ${job}`, `stale ${job}`]);
  expect(within(fullDisk.from, fullDisk.to + 2)).toEqual(both('disk_low', ...allJobs));
  expect(within(fullDisk.to + 2, revokedKey.from)).toEqual([]);
  expect(within(revokedKey.from, revokedKey.to + 2)).toEqual(both('refused', ...stale));
  expect(within(revokedKey.to + 2, machineOff.from)).toEqual([]);
  expect(within(machineOff.from, machineOff.to + 1)).toEqual(
    expect.arrayContaining(['began stale full', 'ended stale full']),
  );
  expect(within(machineOff.to + 1, 366)).toEqual([]);

  // Every tick outside of trouble was answered, and trouble was asked about less than the schedule would have.
  const runsOf = (job: string, from: number, to: number): number =>
    project.runs.filter(({ job: name, startedAt: at }) => {
      const started = (Date.parse(at) - startMs) / day;
      return name === job && started >= from && started < to;
    }).length;
  expect(runsOf('full', 250, 300)).toBeGreaterThanOrEqual(50);
  expect(runsOf('full', 250, 300)).toBeLessThan(60);
  expect(runsOf('head', outage.from, outage.to)).toBeLessThan(7 * 24 + 10);
  expect(runsOf('full', outage.from, outage.to)).toBeLessThan(14);
  expect(unrecorded).toBeLessThan(80);
  expect(snapshots).toBe(3);
  const old = requests.filter(({ dueMs }) => dueMs < clock.now());
  expect(old.length).toBeGreaterThan(150);
  expect(old.every(({ isDone }) => isDone)).toBe(true);

  // Nothing is left behind: no sleeper, no handle.
  expect(sleepingMost).toBeLessThanOrEqual(2);
  expect(clock.sleeping()).toBe(0);
  expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(resourcesBefore + 2);
});

/** What a kill leaves: a run that has no end. */
function leaveDead({ runs }: FakeProject, nowMs: number): void {
  const last = runs.at(-1);
  if (last)
    Object.assign(last, {
      outcome: null,
      reason: null,
      finishedAt: null,
      startedAt: new Date(nowMs - 1).toISOString(),
    });
}
