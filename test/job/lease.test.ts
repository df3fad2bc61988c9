import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { preparePageCommit } from '../mirror/commit-page.ts';
import { setEpoch, whileEpoch } from '../../src/mirror/fence.ts';
import { changeRequest } from '../../src/mirror/erasure-requests.ts';
import {
  beatLease,
  readLease,
  releaseLease,
  takeLease,
  type LeaseHolder,
  finishRun,
  startRun,
} from '../../src/mirror/runs.ts';
import { livingHolder, processSpace } from '../../src/job/lease.ts';
import { acquireLease } from './take-lease.ts';
import { finishPass, startPass } from '../../src/mirror/passes.ts';
import { replacePlaylistRecordings } from '../../src/mirror/write-rows.ts';
import { prepareRemoveRow } from '../../src/mirror/remove-rows.ts';
import { openDatabase } from '../../src/mirror/database.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

const holder = (name: string): LeaseHolder => ({
  holder: name,
  job: 'sync',
  host: 'here',
  pid: 1,
  processStart: null,
  takenAt: '2026-01-01T00:00:00Z',
  beatAt: '2026-01-01T00:00:00Z',
});

it('has one holder at a time', () => {
  const { db } = openTestMirror();
  expect(takeLease(db, holder('a'), () => false).holder).toBe('a');
  expect(takeLease(db, holder('b'), () => false).holder).toBe('a');
  releaseLease(db, 'b');
  expect(readLease(db)?.holder).toBe('a');
  releaseLease(db, 'a');
  expect(takeLease(db, holder('b'), () => false).holder).toBe('b');
});

it('is taken over from a stale holder, which then learns that it lost it', () => {
  const { db } = openTestMirror();
  takeLease(db, holder('a'), () => false);
  expect(takeLease(db, holder('b'), (present) => present.holder === 'a').holder).toBe('b');
  expect(beatLease(db, 'a', '2026-01-01T00:01:00Z')).toBe(false);
  expect(beatLease(db, 'b', '2026-01-01T00:01:00Z')).toBe(true);
  expect(readLease(db)?.beatAt).toBe('2026-01-01T00:01:00Z');
});

describe('a stale holder, once somebody else has taken over', () => {
  const at = '2026-01-01T00:00:00Z';
  const plan = { dataset: 'persons', mode: 'full', plan: '{}', at } as const;

  /** Two connections to one mirror: the first held the lease and began a run and a pass, the second has it now. */
  function takenOver() {
    const { db: stale, dataDir } = openTestMirror();
    takeLease(stale, holder('a'), () => false);
    const run = startRun(stale, 'sync', at);
    const pass = startPass(stale, plan);
    const { db: present } = openTestMirror(dataDir);
    takeLease(present, holder('b'), () => true);
    return { stale, present, run, pass };
  }

  it.each([
    ['begin a run', ({ stale }) => startRun(stale, 'sync', at)],
    [
      'end a run',
      ({ stale, run }) => finishRun(stale, { id: run, outcome: 'done', reason: null, requests: 0, counts: {}, at }),
    ],
    ['begin a pass', ({ stale }) => startPass(stale, plan)],
    [
      'commit a page',
      ({ stale, pass }) => preparePageCommit(stale, 'persons', pass)({ rows: [], quarantined: [], at }),
    ],
    ['end a pass', ({ stale, pass }) => finishPass(stale, pass, null, at)],
    ['remove a row', ({ stale }) => prepareRemoveRow(stale, 'persons')(1, 'deleted', at)],
    ['move a fence', ({ stale }) => setEpoch(stale, 7)],
    ['publish a snapshot', ({ stale }) => whileEpoch(stale, 0, () => undefined)],
    ['change a request', ({ stale }) => changeRequest(stale, 'x', { reason: null })],
    ['replace a playlist', ({ stale }) => replacePlaylistRecordings(stale, 'x', [], '2026-11-20T11:00:00.000Z')],
  ] satisfies [string, (around: ReturnType<typeof takenOver>) => unknown][])('cannot %s', (_what, write) => {
    const around = takenOver();
    expect(() => write(around)).toThrow(expect.objectContaining({ code: 'busy' }));
    expect(around.present.prepare(`SELECT outcome FROM runs`).pluck().all()).toEqual([null]);
    expect(around.present.prepare(`SELECT verdict FROM passes`).pluck().all()).toEqual([null]);
    expect(() => write({ ...around, stale: around.present })).not.toThrow(/took the data folder over/);
  });

  it('the token only grows, also over holders that gave the lease back', () => {
    const { db } = openTestMirror();
    const token = (): unknown => db.prepare(`SELECT token FROM lease_token`).pluck().get();
    for (const expected of [1, 2, 3]) {
      takeLease(db, holder('a'), () => false);
      expect(token()).toBe(expected);
      releaseLease(db, 'a');
    }
  });
});

describe.runIf(process.platform === 'linux')('a holder on this machine that was silent for an hour', () => {
  /** A lease of a process that was started for it, as that process would have taken it. It last beat an hour ago. */
  async function silentHolder() {
    const { db, dataDir } = openTestMirror();
    const module = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
    const script = `const { waitForLease } = await import(${module('job/lease.ts')});
      const { openDatabase } = await import(${module('mirror/database.ts')});
      const { systemClock } = await import(${module('core/clock.ts')});
      const asking = { job: 'reconcile', clock: systemClock, signal: new AbortController().signal, untilMs: 0 };
      await waitForLease(openDatabase(${JSON.stringify(dataDir)}, systemClock), asking);
      process.stdout.write('held');
      setTimeout(() => undefined, 600_000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    const hourAgo = new Date(stillClock.now() - 3_600_000).toISOString();
    db.prepare(`UPDATE lease SET beat_at = ?`).run(hourAgo);
    const take = () => acquireLease(db, 'export', stillClock);
    return { db, child, take };
  }

  it('keeps the lease as long as its process lives, also while it is stopped', async () => {
    const { db, child, take } = await silentHolder();
    await expect(take()).rejects.toMatchObject({ code: 'busy' });
    child.kill('SIGSTOP');
    await expect(take()).rejects.toMatchObject({ code: 'busy' });
    expect(livingHolder(db, stillClock.now())?.job).toBe('reconcile');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(livingHolder(db, stillClock.now())).toBeUndefined();
    await expect(take()).resolves.toBeDefined();
  });

  it('loses the lease when another process has its number', async () => {
    const { db, take } = await silentHolder();
    db.exec(`UPDATE lease SET process_start = 'another time', beat_at = '${new Date(stillClock.now()).toISOString()}'`);
    await expect(take()).resolves.toBeDefined();
  });

  it('loses the lease when its process has ended and nobody has asked how', async () => {
    const { db, take } = await silentHolder();
    // The shell becomes a program that never asks for the end of its child: the child stays as a zombie.
    const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 600'], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const [pid] = (await once(parent.stdout, 'data')) as [Buffer];
    await expect.poll(() => readFileSync(`/proc/${String(pid).trim()}/stat`, 'utf8')).toMatch(/\) Z /);
    db.prepare(`UPDATE lease SET pid = ?, process_start = NULL, beat_at = ?`).run(
      Number(String(pid)),
      new Date(stillClock.now()).toISOString(),
    );
    await expect(take()).resolves.toBeDefined();
  });
});

describe('a lease that is held', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** A held lease, and what its holder has heard of losing it. */
  async function held() {
    const { db } = openTestMirror();
    const losses: unknown[] = [];
    const lease = await acquireLease(db, 'sync', stillClock, (error) => losses.push(error));
    return { db, lease, losses };
  }

  it('is kept by beats, and lost once to whoever takes it over', async () => {
    const { db, lease, losses } = await held();
    vi.advanceTimersByTime(60_000);
    expect(losses).toEqual([]);
    db.exec(`UPDATE lease SET holder = 'other'`);
    vi.advanceTimersByTime(60_000);
    expect(losses).toEqual([expect.objectContaining({ code: 'busy' })]);
    lease.release();
    expect(db.prepare(`SELECT holder FROM lease`).pluck().get()).toBe('other');
  });

  it('is kept, and nothing waits, while another process writes for minutes: its VACUUM of a large mirror does', async () => {
    const { db, lease, losses } = await held();
    const other = openDatabase(dirname(db.name), stillClock);
    other.exec(`BEGIN IMMEDIATE`);
    vi.useRealTimers();
    const beganAtMs = performance.now();
    vi.useFakeTimers();
    expect(beatLease(db, readLease(db)?.holder ?? '', '2026-01-01T00:01:00Z')).toBe(true);
    vi.useRealTimers();
    expect(performance.now() - beganAtMs).toBeLessThan(2000);
    vi.useFakeTimers();
    expect(readLease(db)?.beatAt).not.toBe('2026-01-01T00:01:00Z');
    other.exec(`COMMIT`);
    other.close();
    expect(beatLease(db, readLease(db)?.holder ?? '', '2026-01-01T00:02:00Z')).toBe(true);
    expect(readLease(db)?.beatAt).toBe('2026-01-01T00:02:00Z');
    expect(db.pragma('busy_timeout', { simple: true })).toBe(10_000);
    expect(losses).toEqual([]);
    lease.release();
  });

  it('is lost, and the program not, when a beat cannot be written', async () => {
    const { db, lease, losses } = await held();
    db.exec(`CREATE TRIGGER full BEFORE UPDATE ON lease BEGIN SELECT raise(ABORT, 'no room'); END`);
    vi.advanceTimersByTime(60_000);
    expect(losses).toHaveLength(1);
    expect(losses[0]).toBeInstanceOf(Error);
    expect(losses[0]).not.toBeInstanceOf(AppError);
    lease.release();
  });

  it.each([
    ['long ago', '2020-01-01T00:00:00.000Z', true],
    ['far in the future, by a clock that was wrong', '2030-01-01T00:00:00.000Z', true],
    ['just now', new Date(stillClock.now()).toISOString(), false],
  ])('is taken over from another machine whose last beat was %s: %s, %s', async (_when, beatAt, isTaken) => {
    const { db } = openTestMirror();
    await acquireLease(db, 'sync', stillClock);
    db.prepare(`UPDATE lease SET holder = 'other', host = 'another-machine', beat_at = ?`).run(beatAt);
    const taken = acquireLease(db, 'sync', stillClock);
    if (isTaken) await expect(taken).resolves.toBeDefined();
    else await expect(taken).rejects.toMatchObject({ code: 'busy' });
  });

  it('names the place where process numbers are shared: the same for every process beside this one', () => {
    const module = new URL('../../src/job/lease.ts', import.meta.url).href;
    const script = `import(${JSON.stringify(module)}).then((m) => process.stdout.write(m.processSpace()))`;
    const { stdout } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
    expect(stdout).toBe(processSpace());
    expect(processSpace().startsWith(hostname())).toBe(true);
    if (process.platform === 'linux') expect(processSpace()).toMatch(/ \([0-9a-f]{8}\)$/);
  });
});
