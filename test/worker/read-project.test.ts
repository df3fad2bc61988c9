import { truncateSync } from 'node:fs';
import { expect, test } from 'vitest';
import { settingsWith } from '../config/settings-with.ts';
import { isoTime } from '../../src/core/clock.ts';
import { databasePath } from '../../src/mirror/database.ts';
import { replaceOpenAlerts } from '../../src/mirror/open-alerts.ts';
import { finishRun, startRun } from '../../src/mirror/runs.ts';
import { alertOf } from '../../src/worker/alerts.ts';
import { readProjectState } from '../../src/worker/read-project.ts';
import { acquireLease } from '../job/take-lease.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';
import { plantRequest } from '../mirror/plant-request.ts';

const nowMs = stillClock.now();

/** A new mirror, and the state of its project. */
function openProject(more: object = {}) {
  const { db, dataDir } = openTestMirror();
  const settings = settingsWith({ dataDir, ...more });
  return {
    db,
    dataDir,
    state: () => readProjectState(db, { name: 'shop', settings, keyFrom: '`MIRROR_API_KEY`' }, nowMs),
  };
}

test('every job with a schedule is told, and playlists only where some are configured', () => {
  const jobsOf = (shortIds: string[]) =>
    openProject({ 'playlists.shortIds': shortIds })
      .state()
      .jobs.map(({ job }) => job);
  expect(jobsOf([]).length).toBeGreaterThan(5);
  expect(jobsOf([])).not.toContain('playlists');
  expect(jobsOf(['abc'])).toContain('playlists');
});

test('a run is under way while its process has the lease, and has been interrupted then', async () => {
  const { db, state } = openProject();
  const lease = await acquireLease(db, 'head', stillClock);
  startRun(db, 'head', isoTime(nowMs));
  const outcome = () => state().jobs.find(({ job }) => job === 'head')?.lastOutcome;
  expect(outcome()).toBe('running');
  lease.release();
  expect(outcome()).toBe('interrupted');
});

test('the alerts are those of a worker: a write-ahead log that a reader keeps from being written back', () => {
  const { dataDir, state } = openProject();
  expect(state().alerts).toEqual([]);
  // A hole at its end: the disk does not fill.
  truncateSync(`${databasePath(dataDir)}-wal`, 400_000_000);
  expect(state().condition.logBytes).toBe(400_000_000);
  expect(state().alerts).toMatchObject([{ kind: 'log_held' }]);
});

test('a property that appeared in the last week is told under `listed`, until it is listed or masked', () => {
  const seen = (more: object) => {
    const { db, state } = openProject(more);
    db.exec(`INSERT INTO properties_seen VALUES (1, 9, 9, 0, '2020-01-01T00:00:00.000Z')`);
    const add = db.prepare(`INSERT INTO properties VALUES (?, '["text"]', ?, 1, 0, 0, 0)`);
    add.run('plan', '2020-01-01T00:00:00.000Z');
    add.run('old', isoTime(nowMs - 8 * 86_400_000));
    add.run('passport', isoTime(nowMs - 6 * 86_400_000));
    return state().alerts.map(({ kind, message }) => `${kind}: ${message}`);
  };
  const listed = { 'export.properties': 'listed' };
  expect(seen(listed)).toEqual(['new_property: 1 property has appeared and is not published']);
  expect(seen({ ...listed, 'export.promote': ['passport'] })).toEqual([]);
  expect(seen({ ...listed, 'export.mask': [{ property: 'passport', how: 'hash' }] })).toEqual([]);
  expect(seen({})).toEqual([]);
});

test('a job that waits is late where a worker has said so, and not where commands alone are used', () => {
  const { db, state } = openProject();
  const at = isoTime(nowMs - 90 * 86_400_000);
  finishRun(db, { id: startRun(db, 'export', at), outcome: 'done', reason: null, requests: 0, counts: {}, at });
  expect(state().alerts).toEqual([]);
  replaceOpenAlerts(db, [alertOf('stale', 'so it was', 'export')]);
  expect(state().alerts).toMatchObject([{ kind: 'stale', job: 'export' }]);
});

test('a request that a clock ahead has dated is overdue', () => {
  const { db, state } = openProject();
  const add = (id: string, inMs: number): void => {
    const times = { receivedAt: isoTime(nowMs + inMs), dueAt: isoTime(nowMs + inMs + 30 * 86_400_000) };
    plantRequest(db, { id, ...times, box: Buffer.from('x') });
  };
  add('a little ahead', 60_000);
  expect(state().alerts).toEqual([]);
  add('far ahead', 3_600_000);
  expect(state().alerts).toMatchObject([{ kind: 'overdue', message: '1 erasure request is overdue' }]);
});

test('a sync that failed last is told, such as one that cron runs, until a list has been read since', () => {
  const { db, state } = openProject();
  const run = (job: string, agoMs: number, reason: string | null): void => {
    const at = isoTime(nowMs - agoMs);
    const outcome = reason === null ? 'done' : 'failed';
    finishRun(db, { id: startRun(db, job, at), outcome, reason, requests: 0, counts: {}, at });
  };
  run('sync', 9000, null);
  run('sync', 8000, 'key_refused');
  expect(state().alerts).toMatchObject([
    { kind: 'refused', message: expect.stringMatching(/^the service refuses the key since .*: sync$/) },
  ]);
  run('head', 7000, null);
  expect(state().alerts).toEqual([]);
  run('sync', 6000, 'storage');
  expect(state().alerts).toMatchObject([
    { kind: 'failing', message: expect.stringMatching(/^sync fails since .* \(storage\)$/) },
  ]);
  run('sync', 5000, 'died');
  run('sync', 4000, null);
  expect(state().alerts).toEqual([]);
});

test('what a run has found is told until a later run has looked, however many have failed since', () => {
  const { db, state } = openProject();
  const end = (outcome: 'incomplete' | 'failed' | 'done', reason: string | null): void => {
    const id = startRun(db, 'checkpoint', isoTime(nowMs));
    finishRun(db, { id, outcome, reason, requests: 0, counts: {}, at: isoTime(nowMs) });
  };
  const kinds = () => state().alerts.flatMap(({ kind, job }) => (job === 'checkpoint' ? [kind] : []));
  end('incomplete', 'files_damaged');
  for (let failed = 0; failed < 60; failed += 1) end('failed', 'storage');
  expect(kinds()).toEqual(['damaged', 'failing']);
  end('done', null);
  expect(kinds()).toEqual([]);
});
