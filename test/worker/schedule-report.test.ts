import { expect, test } from 'vitest';
import { loadSettings } from '../../src/config/load-settings.ts';
import { isoTime } from '../../src/core/clock.ts';
import { startRun } from '../../src/mirror/runs.ts';
import { reportSchedule } from '../../src/worker/schedule-report.ts';
import { acquireLease } from '../job/take-lease.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

const nowMs = stillClock.now();
const now = isoTime(nowMs);
const { settings } = loadSettings({}, {});

test('no job is next in the past, and playlists that are not configured have no next', () => {
  const { db } = openTestMirror();
  const report = reportSchedule(db, settings, nowMs);
  expect(report.map(({ job }) => job)).not.toContain('playlists');
  expect(report.length).toBeGreaterThan(5);
  expect(report.filter(({ nextAt }) => nextAt < now)).toEqual([]);
  const configured = { ...settings, playlists: { shortIds: ['abc'] } };
  expect(reportSchedule(db, configured, nowMs).map(({ job }) => job)).toContain('playlists');
});

test('a run is under way while its process has the lease, and has been interrupted then', async () => {
  const { db } = openTestMirror();
  const lease = await acquireLease(db, 'head', stillClock);
  startRun(db, 'head', now);
  const outcome = () => reportSchedule(db, settings, nowMs).find(({ job }) => job === 'head')?.lastOutcome;
  expect(outcome()).toBe('running');
  lease.release();
  expect(outcome()).toBe('interrupted');
});
