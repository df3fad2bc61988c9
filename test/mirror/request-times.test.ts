import { expect, it } from 'vitest';
import { openDatabase } from '../../src/mirror/database.ts';
import { openRequestTimes } from '../../src/mirror/request-times.ts';
import { freshFolder, openTestMirror, stillClock } from './open-test-mirror.ts';

const timeoutMs = 1000;

it('shares times between connections, and keeps them', () => {
  const dataDir = freshFolder();
  const one = openTestMirror(dataDir).db;
  const other = openTestMirror(dataDir).db;
  const id = openRequestTimes(one, timeoutMs).begin('general', 100);
  expect(openRequestTimes(other, timeoutMs).latest(undefined, 9, 150)).toEqual([150]);
  openRequestTimes(one, timeoutMs).end(id, 120);
  one.close();
  expect(openRequestTimes(other, timeoutMs).latest(undefined, 9, 150)).toEqual([120]);
});

it('counts the request of a process that died as ending with its time out', () => {
  const { db } = openTestMirror();
  openRequestTimes(db, timeoutMs).begin('general', 100);
  const later = openRequestTimes(db, timeoutMs);
  expect(later.latest(undefined, 9, 900)).toEqual([900]);
  expect(later.latest(undefined, 9, 5000)).toEqual([1100]);
  later.confine(1101, 5000);
  expect(later.latest(undefined, 9, 5000)).toEqual([]);
});

it('gives a request that is under way its whole time again when the clock is set back', () => {
  const { db } = openTestMirror();
  const times = openRequestTimes(db, timeoutMs);
  times.begin('general', 100_000);
  times.confine(0, 5000);
  expect(times.latest(undefined, 9, 5500)).toEqual([5500]);
  expect(times.latest(undefined, 9, 50_000)).toEqual([6000]);
});

it('lets nobody else write while it decides', () => {
  const dataDir = freshFolder();
  const { db } = openTestMirror(dataDir);
  const other = openTestMirror(dataDir).db;
  other.pragma('busy_timeout = 0');
  const times = openRequestTimes(other, timeoutMs);
  openRequestTimes(db, timeoutMs).atomically(() => {
    expect(() => times.begin('general', 1)).toThrow(/locked/);
  });
  expect(times.begin('general', 1)).toBeGreaterThan(0);
});

it('takes the end of a request whose mirror was closed for unknown', () => {
  const dataDir = freshFolder();
  const db = openDatabase(dataDir, stillClock);
  const times = openRequestTimes(db, timeoutMs);
  const id = times.begin('general', 100);
  db.close();
  expect(() => times.end(id, 120)).not.toThrow();
  expect(openRequestTimes(openTestMirror(dataDir).db, timeoutMs).latest(undefined, 9, 5000)).toEqual([1100]);
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
