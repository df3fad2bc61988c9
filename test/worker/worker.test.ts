import { expect, it } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { createLogger } from '../../src/log/logger.ts';
import type { AlertChange } from '../../src/worker/alerts.ts';
import { startWorker, type Worker } from '../../src/worker/worker.ts';
import { virtualClock, type VirtualClock } from '../core/virtual-clock.ts';
import { fakeProject, type FakeJob, type FakeProject } from './fake-project.ts';

const minute = 60_000;
const hour = 60 * minute;
const startMs = Date.UTC(2026, 2, 10, 12);
const log = createLogger({ level: 'silent', isTerminal: false });

type Rig = { worker: Worker; alerts: AlertChange[]; pass: (ms: number) => Promise<void> };

function rig(clock: VirtualClock, projects: readonly FakeProject[], projectsAtOnce = 2): Rig {
  const alerts: AlertChange[] = [];
  const onAlert = (change: AlertChange): void => void alerts.push(change);
  const worker = startWorker({ projects, clock, log, projectsAtOnce, onAlert });
  return { worker, alerts, pass: (ms) => clock.settle(clock.sleep(ms)) };
}

const refused = new AppError('no', { code: 'refused' });
const starts = ({ runs }: FakeProject): string[] => runs.map(({ job, startedAt: at }) => `${job} ${at.slice(11, 19)}`);

it('makes up once for what was missed, one job at a time, and then follows the schedule', async () => {
  const clock = virtualClock(startMs);
  const project = fakeProject(clock, { head: '*/30 * * * *', full: '0 2 * * *', export: null });
  const { worker, pass } = rig(clock, [project]);
  expect(worker.state().projects[0]?.jobs).toMatchObject([
    { job: 'head', lastOutcome: null, nextAt: '2026-03-10T12:00:00.000Z', runningSince: null },
    { job: 'full', lastOutcome: 'running', runningSince: '2026-03-10T12:00:00.000Z' },
  ]);
  await pass(hour + minute);
  expect(starts(project)).toEqual(['full 12:00:00', 'head 12:00:01', 'head 12:30:00', 'head 13:00:00']);
  expect(worker.state()).toMatchObject({
    projects: [
      {
        problem: null,
        alerts: [],
        jobs: [
          { job: 'head', lastOutcome: 'done', lastSuccessAt: '2026-03-10T13:00:00.000Z', consecutiveFailures: 0 },
          { job: 'full', nextAt: '2026-03-11T02:00:00.000Z', periodMs: 24 * hour },
        ],
      },
    ],
  });
  expect(await clock.settle(worker.stop(1000))).toBe(true);
});

it('has each job once at a time, and answers the ticks that fell into a long run once', async () => {
  const clock = virtualClock(startMs);
  const work: FakeJob = (job) => ({ ms: job === 'full' ? 50 * minute : 1000 });
  const project = fakeProject(clock, { head: '*/10 * * * *', full: '30 12 * * *' }, { work });
  const { worker, pass } = rig(clock, [project]);
  await pass(3 * hour + minute);
  expect(starts(project).slice(0, 4)).toEqual(['full 12:00:00', 'head 12:50:00', 'full 12:50:01', 'head 13:40:01']);
  expect(starts(project).at(-1)).toBe('head 15:00:00');
  await clock.settle(worker.stop(1000));
});

it('begins a job beside a pass that gives way to it, also where no other place is free, and no second one', async () => {
  const clock = virtualClock(startMs);
  const work: FakeJob = (job) => ({ ms: job === 'full' ? 50 * minute : 5 * minute });
  const schedule = { head: '*/10 * * * *', reconcile: '*/10 * * * *', export: '*/10 * * * *', full: '30 12 * * *' };
  const project = fakeProject(clock, schedule, { work });
  project.givesWay = (running, to) => running === 'full' && to !== 'head';
  const { worker, pass } = rig(clock, [project], 1);
  await pass(22 * minute);
  expect(starts(project)).toEqual([
    'reconcile 12:00:00',
    'full 12:05:00',
    'export 12:06:00',
    'reconcile 12:11:00',
    'export 12:16:00',
    'reconcile 12:21:00',
  ]);
  expect(await clock.settle(worker.stop(1000))).toBe(true);
});

it('tries a failing job again after growing pauses, alerts, and forgets it once it succeeds', async () => {
  const clock = virtualClock(startMs);
  const isBroken = { now: true };
  const work: FakeJob = () => ({ ms: 1000, ends: isBroken.now ? refused : 'done' });
  const project = fakeProject(clock, { full: '0 12 * * *' }, { work });
  const other = fakeProject(clock, { head: '0 * * * *' }, { name: 'blog' });
  const { worker, alerts, pass } = rig(clock, [project, other]);
  await pass(4 * hour + minute);
  expect(starts(project)).toEqual([
    'full 12:00:00',
    'full 12:15:01',
    'full 12:45:02',
    'full 13:45:03',
    'full 15:45:04',
  ]);
  expect(worker.state().projects[0]?.jobs[0]).toMatchObject({
    lastOutcome: 'failed',
    lastReason: 'refused',
    consecutiveFailures: 5,
    lastSuccessAt: null,
  });
  expect(starts(other)).toHaveLength(5);
  isBroken.now = false;
  await pass(24 * hour);
  expect(alerts.map(({ event, project, alert: { kind } }) => [event, project, kind])).toEqual([
    ['began', 'shop', 'refused'],
    ['ended', 'shop', 'refused'],
  ]);
  await clock.settle(worker.stop(1000));
});

it('waits a little for a command that holds the data folder, and counts that', async () => {
  const clock = virtualClock(startMs);
  const project = fakeProject(clock, { head: '0 * * * *' });
  const held = { until: startMs + 70_000 };
  const { run } = project;
  project.run = (job, signal) =>
    clock.now() < held.until ? Promise.reject(new AppError('held', { code: 'busy' })) : run(job, signal);
  const { worker, alerts, pass } = rig(clock, [project]);
  await pass(10 * minute);
  expect(starts(project)).toEqual(['head 12:01:30']);
  expect(worker.state().projects[0]?.jobs).toMatchObject([{ timesBusy: 3, consecutiveFailures: 0 }]);
  expect(alerts).toEqual([]);
  await clock.settle(worker.stop(1000));
});

it('does not run hot where nothing can be recorded', async () => {
  const clock = virtualClock(startMs);
  const project = fakeProject(clock, { head: '* * * * *' });
  let attempts = 0;
  project.run = () => {
    attempts += 1;
    return Promise.reject(Object.assign(new Error('full'), { code: 'SQLITE_FULL' }));
  };
  const { worker, alerts, pass } = rig(clock, [project]);
  await pass(24 * hour);
  expect(attempts).toBeLessThan(40);
  expect(alerts.map(({ alert: { kind } }) => kind)).toEqual(['failing', 'stale']);
  expect(alerts[0]?.alert.message).toContain('storage');
  await clock.settle(worker.stop(1000));
});

it('a project that cannot be read stops no other, and goes on when it can', async () => {
  const clock = virtualClock(startMs);
  const broken = fakeProject(clock, { head: '*/5 * * * *' });
  const other = fakeProject(clock, { head: '*/5 * * * *' }, { name: 'blog' });
  const { readHistory } = broken;
  broken.readHistory = () => {
    throw new AppError('no', { code: 'storage' });
  };
  const { worker, alerts, pass } = rig(clock, [broken, other]);
  await pass(41 * minute);
  expect(worker.state().projects).toMatchObject([{ problem: 'storage' }, { problem: null }]);
  expect([broken.runs.length, other.runs.length]).toEqual([0, 9]);
  broken.readHistory = readHistory;
  await pass(10 * minute);
  expect(broken.runs.length).toBeGreaterThan(1);
  expect(alerts.map(({ event, alert: { kind } }) => [event, kind])).toEqual([
    ['began', 'unopened'],
    ['ended', 'unopened'],
  ]);
  await clock.settle(worker.stop(1000));
});

it('shares a single place fairly among projects', async () => {
  const clock = virtualClock(startMs);
  const projects = ['a', 'b', 'c'].map((name) =>
    fakeProject(clock, { head: '* * * * *', full: '* * * * *' }, { name, work: () => ({ ms: 40_000 }) }),
  );
  const { worker, pass } = rig(clock, projects, 1);
  await pass(2 * hour);
  const counts = projects.map(({ runs }) => runs.length);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  expect(counts.reduce((sum, count) => sum + count)).toBeGreaterThan(170);
  await clock.settle(worker.stop(1000));
});

it('survives a clock that is set ahead by years, and back', async () => {
  const machine = virtualClock(startMs);
  const skew = { ms: 0 };
  const clock = { ...machine, now: () => machine.now() + skew.ms };
  const project = fakeProject(clock, { head: '0 * * * *', full: '0 2 * * *' });
  const { run } = project;
  // The last thing that happens while the clock is wrong is that a command holds the folder.
  project.run = (job, signal) =>
    job === 'full' && skew.ms > 0 ? Promise.reject(new AppError('held', { code: 'busy' })) : run(job, signal);
  const { worker, pass } = rig(clock, [project]);
  await pass(10 * minute);
  skew.ms = 5 * 365 * 24 * hour;
  await pass(10 * minute);
  skew.ms = 0;
  await pass(10 * minute);
  expect(starts(project)).toHaveLength(4);
  await pass(24 * hour);
  expect(starts(project)).toHaveLength(4 + 24 + 1);
  expect(Math.max(...clock.sleeps.filter((ms) => ms !== 24 * hour && ms !== 10 * minute))).toBe(minute);
  await clock.settle(worker.stop(1000));
});

it('stopping takes no more work, ends what runs at its next safe point, and is heard by what waits', async () => {
  const clock = virtualClock(startMs);
  const work: FakeJob = () => ({ ms: hour });
  const project = fakeProject(clock, { full: '0 2 * * *', head: '* * * * *' }, { work });
  const { worker, pass } = rig(clock, [project]);
  await pass(minute);
  expect(await clock.settle(worker.stop(1000))).toBe(true);
  await worker.ended;
  expect(project.runs).toMatchObject([{ job: 'full', outcome: 'interrupted', reason: 'interrupted' }]);
  expect(clock.now()).toBe(startMs + minute);
  expect(clock.sleeping()).toBe(0);

  const again = rig(clock, [project]);
  await again.pass(2 * hour);
  expect(starts(project).slice(1, 3)).toEqual(['head 12:01:00', 'full 13:01:00']);
  await clock.settle(again.worker.stop(1000));
});

it('stopping waits no longer than it is told to for a job that does not listen', async () => {
  const clock = virtualClock(startMs);
  const work: FakeJob = () => ({ ms: hour, deaf: true });
  const { worker, pass } = rig(clock, [fakeProject(clock, { full: '0 2 * * *' }, { work })]);
  await pass(minute);
  expect(await clock.settle(worker.stop(25_000))).toBe(false);
  expect(clock.now()).toBe(startMs + minute + 25_000);
});

const told = (alerts: readonly AlertChange[]): string[] =>
  alerts.map(({ event, alert: { kind, job } }) => [event, kind, job ?? ''].join(' ').trim());

it('started again, tells of no alert that stands a second time, and of what ended meanwhile once', async () => {
  const clock = virtualClock(startMs);
  const isBroken = { now: true };
  const work: FakeJob = () => ({ ms: 1000, ends: isBroken.now ? refused : 'done' });
  const project = fakeProject(clock, { head: '0 * * * *' }, { work });
  project.condition.heldRequests = 1;
  const restart = async (): Promise<string[]> => {
    const { worker, alerts, pass } = rig(clock, [project]);
    await pass(10 * hour);
    await clock.settle(worker.stop(1000));
    return told(alerts);
  };
  expect(await restart()).toEqual(['began held', 'began refused', 'began stale head']);
  expect(await restart()).toEqual([]);
  project.condition.heldRequests = 0;
  isBroken.now = false;
  expect((await restart()).toSorted()).toEqual(['ended held', 'ended refused', 'ended stale head']);
  expect(await restart()).toEqual([]);
});

it('what stood before a start is compared with once the data folder can be read', async () => {
  const clock = virtualClock(startMs);
  const project = fakeProject(clock, { head: '0 * * * *' });
  project.condition.heldRequests = 1;
  const first = rig(clock, [project]);
  await first.pass(minute);
  await clock.settle(first.worker.stop(1000));
  project.condition.heldRequests = 0;

  const { readCondition } = project;
  project.readCondition = () => {
    throw new AppError('no', { code: 'storage' });
  };
  const { worker, alerts, pass } = rig(clock, [project]);
  await pass(10 * minute);
  expect(told(alerts)).toEqual(['began unopened']);
  project.readCondition = readCondition;
  await pass(10 * minute);
  expect(told(alerts)).toEqual(['began unopened', 'ended held', 'ended unopened']);
  await clock.settle(worker.stop(1000));
});

it('goes on telling of alerts where they cannot be kept', async () => {
  const clock = virtualClock(startMs);
  const project = fakeProject(clock, { head: '0 * * * *' });
  project.condition.diskFreeBytes = 0;
  project.keepAlerts = () => {
    throw Object.assign(new Error('full'), { code: 'SQLITE_FULL' });
  };
  const { worker, alerts, pass } = rig(clock, [project]);
  await pass(10 * minute);
  project.condition.diskFreeBytes = 5e9;
  await pass(10 * minute);
  expect(told(alerts)).toEqual(['began disk_low', 'ended disk_low']);
  await clock.settle(worker.stop(1000));
});

it('works on a project that comes later, and on none that was taken away, whose job it lets end', async () => {
  const clock = virtualClock(startMs);
  const { worker, pass } = rig(clock, []);
  await pass(minute);
  const shop = fakeProject(clock, { head: '0 * * * *' }, { work: () => ({ ms: 10 * minute }) });
  worker.add(shop, new AbortController().signal);
  await pass(minute);
  expect(starts(shop)).toEqual(['head 12:01:00']);
  expect([worker.isIdle('shop'), worker.state().projects.map(({ name }) => name)]).toEqual([false, ['shop']]);
  const removed = worker.remove('shop').then(() => clock.now());
  expect(worker.state().projects).toEqual([]);
  await pass(3 * hour);
  expect(await removed).toBe(startMs + 11 * minute);
  expect(starts(shop)).toHaveLength(1);
  expect(worker.isIdle('shop')).toBe(true);
  await clock.settle(worker.stop(1000));
});

it('ends the job of a project that is lost', async () => {
  const clock = virtualClock(startMs);
  const { worker, pass } = rig(clock, []);
  const lost = new AbortController();
  const shop = fakeProject(clock, { head: '0 * * * *' }, { work: () => ({ ms: hour }) });
  worker.add(shop, lost.signal);
  await pass(minute);
  lost.abort(new AppError('another machine has taken the project over', { code: 'busy' }));
  await clock.settle(worker.remove('shop'));
  expect(shop.runs).toMatchObject([{ job: 'head', outcome: 'failed', reason: 'busy' }]);
  await clock.settle(worker.stop(1000));
});

it('long passes of as many projects as there are places starve no other project', async () => {
  const clock = virtualClock(startMs);
  const work = (): { ms: number } => ({ ms: 6 * hour });
  const [shop, blog] = ['shop', 'blog'].map((name) => fakeProject(clock, { full: '0 2 * * *' }, { name, work }));
  const third = fakeProject(clock, { head: '*/15 * * * *', full: '0 2 * * *' }, { name: 'third' });
  if (!shop || !blog) throw new Error('unreachable');
  const { worker, pass } = rig(clock, [shop, blog, third]);
  await pass(hour);
  expect(starts(third).length).toBeGreaterThan(2);
  expect(new Set(third.runs.map(({ job }) => job))).toEqual(new Set(['head']));
  expect(worker.state().projects.flatMap(({ alerts }) => alerts)).toEqual([]);
  await pass(6 * hour);
  expect(new Set(third.runs.map(({ job }) => job))).toEqual(new Set(['head', 'full']));
  await clock.settle(worker.stop(1000));
});
