import { expect, it } from 'vitest';
import { readClockStanding } from '../../src/job/clock-standing.ts';
import { finishRun, startRun } from '../../src/mirror/runs.ts';
import { noteServiceClock } from '../../src/mirror/service-clock.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';

const at = (minute: number): string => `2026-01-01T10:${String(minute).padStart(2, '0')}:00.000Z`;

it('a service that answers, and tells no time or tells it no longer, puts the time in doubt', () => {
  const { db, dataDir } = openTestMirror();
  const problemAt = (minute: number) => readClockStanding(db, dataDir, Date.parse(at(minute))).problem;
  const run = (minute: number, requests: number, tellsTime: boolean): void => {
    const id = startRun(db, 'sync', at(minute));
    const nowMs = Date.parse(at(minute + 1));
    if (tellsTime) noteServiceClock(db, { earliestMs: nowMs, latestMs: nowMs, aheadMs: 0 }, at(minute + 1));
    finishRun(db, { id, outcome: 'done', reason: null, requests, counts: {}, at: at(minute + 1) });
  };
  expect(problemAt(0)).toBeNull();
  run(1, 0, false);
  expect(problemAt(3)).toBeNull();
  run(3, 5, false);
  expect(problemAt(5)).toMatch(/^no answer of the service tells its time/);
  run(5, 5, true);
  expect(problemAt(7)).toBeNull();
  // One that is under way has not ended yet.
  startRun(db, 'sync', at(7));
  expect(problemAt(8)).toBeNull();
  run(8, 5, false);
  expect(problemAt(10)).toMatch(/^no answer/);
});
