import { expect, test } from 'vitest';
import { loadSettings } from '../../src/config/load-settings.ts';
import { isoTime } from '../../src/core/clock.ts';
import { processSpace } from '../../src/job/lease.ts';
import { startRun, takeLease } from '../../src/mirror/runs.ts';
import { reportSchedule } from '../../src/worker/schedule-report.ts';
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

test.each([
  ['a living process', process.pid, 'running'],
  ['a dead process', 2 ** 22 - 1, 'interrupted'],
])('a run that %s began is %s', (_whose, pid, outcome) => {
  const { db } = openTestMirror();
  takeLease(
    db,
    { holder: 'a', job: 'head', host: processSpace(), pid, processStart: null, takenAt: now, beatAt: now },
    () => true,
  );
  startRun(db, 'head', now);
  expect(reportSchedule(db, settings, nowMs).find(({ job }) => job === 'head')?.lastOutcome).toBe(outcome);
});
