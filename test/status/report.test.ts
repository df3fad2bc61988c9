import { truncateSync } from 'node:fs';
import { expect, test } from 'vitest';
import { databasePath, type Database } from '../../src/mirror/database.ts';
import { finishRun, listJobTotals, listRuns, startRun } from '../../src/mirror/runs.ts';
import { finishPass, startPass } from '../../src/mirror/passes.ts';
import { gatherStatus } from '../../src/status/report.ts';
import { exportCount } from '../export/export-fixture.ts';
import { writeLease } from '../../src/mirror/lease-rows.ts';
import { acquireLease } from '../job/take-lease.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

const at = '2026-01-01T00:00:00.000Z';
const later = '2026-01-01T00:01:00.000Z';

test('of a new mirror there is nothing to tell', () => {
  const { db, dataDir } = openTestMirror();
  expect(gatherStatus(db, dataDir, later)).toMatchObject({
    dataDir,
    rows: { persons: 0, recordings: 0, quarantine: 0 },
    quarantine: {},
    passes: [],
    snapshots: [],
    runs: [],
    lease: null,
  });
});

test('a write-ahead log that a reader keeps from being written back is told', () => {
  const { db, dataDir } = openTestMirror();
  const bytes = 400_000_000;
  expect(gatherStatus(db, dataDir, later).log.isHeld).toBe(false);
  // A hole at its end: the disk does not fill.
  truncateSync(`${databasePath(dataDir)}-wal`, bytes);
  expect(gatherStatus(db, dataDir, later).log).toEqual({ bytes, isHeld: true });
});

test('passes, runs and the lease are told as they stand', async () => {
  const { db, dataDir } = openTestMirror();
  const passId = startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at });
  finishPass(db, passId, 'seam_not_joined', later);
  startPass(db, { dataset: 'persons', mode: 'head', plan: '{}', at });
  const runId = startRun(db, 'sync', at);
  finishRun(db, { id: runId, outcome: 'incomplete', reason: null, requests: 12, counts: {}, at: later });
  startRun(db, 'export', later);
  await acquireLease(db, 'export', { ...stillClock, now: () => Date.parse(at) });
  const status = gatherStatus(db, dataDir, later);
  expect(status.passes.map(({ mode, verdict, reason }) => [mode, verdict, reason])).toEqual([
    ['full', 'incomplete', 'seam_not_joined'],
    ['head', 'unfinished', null],
  ]);
  expect(status.runs.map(({ job, outcome, requests }) => [job, outcome, requests])).toEqual([
    ['export', 'running', 0],
    ['sync', 'incomplete', 12],
  ]);
  expect(status.lease).toMatchObject({ job: 'export', pid: process.pid, takenAt: at });
});

test.each([
  ['no lease', () => Promise.resolve()],
  [
    'the row of a process that was killed',
    (db: Database) => {
      writeLease(db, { holder: 'a', job: 'export', host: 'here', pid: 1, takenAt: at });
      return Promise.resolve();
    },
  ],
  ['the lease of another job', (db: Database) => acquireLease(db, 'audit', stillClock)],
])(
  'with %s, a run without an end has died and its pass is unfinished',
  async (what, take: (db: Database) => Promise<unknown>) => {
    const { db, dataDir } = openTestMirror();
    await take(db);
    startRun(db, 'export', at);
    startPass(db, { dataset: 'recordings', mode: 'full', plan: '{}', at });
    const { runs, passes, lease } = gatherStatus(db, dataDir, later);
    expect(runs).toMatchObject([{ job: 'export', outcome: 'interrupted', reason: 'died' }]);
    expect(passes).toMatchObject([{ verdict: 'unfinished' }]);
    expect(lease?.job).toBe(what === 'the lease of another job' ? 'audit' : undefined);
    expect(listJobTotals(db, lease ? [lease] : [])).toMatchObject([{ outcomes: { interrupted: 1 } }]);
    // A reader writes nothing: the next run records it.
    expect(listRuns(db, 1)).toMatchObject([{ outcome: null }]);
  },
);

test('the newest five runs are told', () => {
  const { db, dataDir } = openTestMirror();
  for (let run = 0; run < 7; run += 1) startRun(db, 'sync', at);
  expect(gatherStatus(db, dataDir, later).runs.map(({ id }) => id)).toEqual([7, 6, 5, 4, 3]);
});

test('a snapshot is told by its manifest', async () => {
  const { db, dataDir } = openTestMirror();
  const { snapshotId } = await exportCount(dataDir, 10);
  const [snapshot, ...others] = gatherStatus(db, dataDir, later).snapshots;
  expect(snapshot).toMatchObject({ dataset: 'distinct_ids', snapshotId, rows: 10, files: 3, verdict: 'complete' });
  expect(snapshot?.bytes).toBeGreaterThan(100);
  expect(others).toEqual([]);
});

test('an export that found nothing new is told, so that nothing looks stale because nothing has changed', async () => {
  const { db, dataDir } = openTestMirror();
  await exportCount(dataDir, 4);
  const exportedAt = '2026-11-21T12:00:00.000Z';
  const run = (job: string, startedAt: string, outcome: 'done' | 'failed', counts: object): void =>
    finishRun(db, { id: startRun(db, job, startedAt), outcome, reason: null, requests: 0, counts, at: startedAt });
  const unchangedAt = (): unknown => gatherStatus(db, dataDir, exportedAt).snapshots.map((one) => one.unchangedAt);
  run('export', '2026-11-20T12:00:00.000Z', 'done', { distinct_ids: 4 });
  expect(unchangedAt()).toEqual([null]);
  run('delta', exportedAt, 'done', { distinct_ids: 4 });
  run('export', '2026-11-22T12:00:00.000Z', 'done', { persons: 4 });
  run('export', '2026-11-23T12:00:00.000Z', 'failed', {});
  expect(unchangedAt()).toEqual([exportedAt]);
});
