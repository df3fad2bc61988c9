import { readPace, type Pace } from '../../src/client/pace.ts';
import { expect, it } from 'vitest';
import type { Database } from '../../src/mirror/database.ts';
import { openDatabase } from '../../src/mirror/database.ts';
import { openRequestTimes } from '../../src/mirror/request-times.ts';
import { virtualClock, type VirtualClock } from '../core/virtual-clock.ts';
import { freshFolder, openTestMirror, stillClock } from './open-test-mirror.ts';

const kept = { ms: 10_000, requests: { general: 9, 'recordings list': 9 }, timeoutMs: 1000, readPace };

type Times = ReturnType<typeof openRequestTimes<Pace>>;
const never = (): number => 0;
const open = (db: Database, clock: VirtualClock): Times => openRequestTimes(db, clock, kept);
const endsAt = async (times: Times, clock: VirtualClock, ms: number): Promise<number[]> => {
  clock.setTo(ms);
  return (await times.read()).ends.general;
};

it('shares times between connections, and keeps them', async () => {
  const clock = virtualClock(100);
  const dataDir = freshFolder();
  const one = openTestMirror(dataDir).db;
  const other = open(openTestMirror(dataDir).db, clock);
  const end = await open(one, clock).tryToBegin('general', never);
  expect(await endsAt(other, clock, 150)).toEqual([150]);
  clock.setTo(120);
  if (typeof end === 'function') await end();
  one.close();
  expect(await endsAt(other, clock, 150)).toEqual([121]);
});

it('counts the request of a process that died as ending with its time out', async () => {
  const clock = virtualClock(100);
  const { db } = openTestMirror();
  await open(db, clock).tryToBegin('general', never);
  const later = open(db, clock);
  expect(await endsAt(later, clock, 900)).toEqual([900]);
  expect(await endsAt(later, clock, 5000)).toEqual([1100]);
  clock.setTo(11_101);
  await later.tryToBegin('general', () => 1);
  expect(await endsAt(later, clock, 11_101)).toEqual([]);
});

it('gives a request that is under way its whole time again when the clock is set back', async () => {
  const clock = virtualClock(100_000);
  const times = open(openTestMirror().db, clock);
  await times.tryToBegin('general', never);
  clock.setTo(5000);
  await times.tryToBegin('general', () => 1);
  expect(await endsAt(times, clock, 5500)).toEqual([5500]);
  expect(await endsAt(times, clock, 50_000)).toEqual([6001]);
});

it('waits for a lock without standing still, and not for ever', async () => {
  const clock = virtualClock(1);
  const dataDir = freshFolder();
  const times = open(openTestMirror(dataDir).db, clock);
  const begun = await times.tryToBegin('general', never);
  const { db } = openTestMirror(dataDir);
  db.exec('BEGIN IMMEDIATE');
  expect(await times.tryToBegin('general', never)).toBe(50);
  let isOver = false;
  const over = (typeof begun === 'function' ? begun() : Promise.resolve()).then(() => (isOver = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  db.exec('COMMIT');
  await clock.settle(over);
  expect(await times.tryToBegin('general', never)).toBeTypeOf('function');
  db.exec('BEGIN IMMEDIATE');
  expect(await times.tryToBegin('general', never)).toBe(50);
  clock.setTo(clock.now() + 300_001);
  await expect(async () => times.tryToBegin('general', never)).rejects.toMatchObject({ code: 'SQLITE_BUSY' });
  db.exec('COMMIT');
});

it('lets nobody else write while it decides', async () => {
  const clock = virtualClock(1);
  const dataDir = freshFolder();
  const times = open(openTestMirror(dataDir).db, clock);
  const { db } = openTestMirror(dataDir);
  db.pragma('busy_timeout = 0');
  let seen: unknown;
  await times.tryToBegin('general', () => {
    try {
      db.prepare(`DELETE FROM request_times`).run();
    } catch (error) {
      seen = error;
    }
    return 0;
  });
  expect(String(seen)).toMatch(/locked/);
});

it('takes the end of a request whose mirror was closed for unknown', async () => {
  const clock = virtualClock(100);
  const dataDir = freshFolder();
  const db = openDatabase(dataDir, stillClock);
  const end = await open(db, clock).tryToBegin('general', never);
  db.close();
  clock.setTo(120);
  if (typeof end === 'function') await end();
  expect(await endsAt(open(openTestMirror(dataDir).db, clock), clock, 5000)).toEqual([1100]);
});

it('asks the index, however many requests there are', () => {
  const { db } = openTestMirror();
  const plan = db
    .prepare<[], { detail: string }>(
      `EXPLAIN QUERY PLAN SELECT min(ended_at_ms, 1) FROM request_times WHERE lane = 'general' ORDER BY ended_at_ms DESC LIMIT 9`,
    )
    .all();
  expect(plan.map(({ detail }) => detail)).toEqual(['SCAN request_times USING COVERING INDEX request_times_by_end']);
});
