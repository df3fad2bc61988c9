import { expect, it } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { logBytesKept, openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { readLogBytes } from '../../src/mirror/log-size.ts';
import { finishPass, lastCompletePasses, startPass } from '../../src/mirror/passes.ts';
import {
  claimMirror,
  finishRun,
  listJobTotals,
  listRunsOfJob,
  newestSuccess,
  startRun,
  type MirroredProject,
} from '../../src/mirror/runs.ts';
import { openTestMirror } from './open-test-mirror.ts';

const mine: MirroredProject = { origin: 'https://old.example', projectId: '1' };
const moved = { ...mine, origin: 'https://new.example' };
const other = { ...mine, projectId: '2' };

/** A mirror that was synced with `mine`, and how often it was changed. */
function setUp(hasHeldRow: boolean) {
  const { db } = openTestMirror();
  claimMirror(db, mine, null);
  if (hasHeldRow)
    db.exec(`INSERT INTO changes (dataset, key, op, at) VALUES ('persons', 'a', 'upsert', '2026-01-01T00:00:00Z')`);
  const owner = (): unknown => db.prepare(`SELECT origin, project_id AS projectId FROM mirrored_project`).get();
  return { db, owner };
}

it('lets the same project in again', () => {
  const { db, owner } = setUp(true);
  claimMirror(db, mine, null);
  claimMirror(db, mine, 'https://older.example');
  expect(owner()).toEqual(mine);
});

it.each([
  ['another project', other, null],
  ['another address', moved, null],
  ['an address that is not the one it moved from', moved, 'https://older.example'],
  ['another project at the address it moved to', { ...moved, projectId: '2' }, mine.origin],
])('refuses %s, and says which is which', (_what, project, movedFrom) => {
  const { db, owner } = setUp(true);
  const refusal = (): unknown => {
    try {
      return claimMirror(db, project, movedFrom);
    } catch (error) {
      return error instanceof AppError ? { code: error.code, message: error.message } : error;
    }
  };
  expect(refusal()).toEqual({
    code: 'usage',
    message: `the data folder mirrors project 1 of https://old.example, not project ${project.projectId} of ${project.origin}`,
  });
  expect(owner()).toEqual(mine);
});

it('lets in a service that has moved, as long as it is told from where', () => {
  const { db, owner } = setUp(true);
  // However that address is spelled.
  for (const from of [mine.origin, `${mine.origin}/`, 'HTTPS://Old.Example:443']) claimMirror(db, moved, from);
  expect(owner()).toEqual(mine);
  expect(() => claimMirror(db, moved, null)).toThrow(/mirrors project 1 of https:\/\/old.example/);
});

it('belongs to nobody before it has held a row: a first address may be mistyped', () => {
  const { db, owner } = setUp(false);
  claimMirror(db, other, null);
  expect(owner()).toEqual(other);
});

const time = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();

it('keeps the newest runs of each job and its newest success, and counts all', () => {
  const { db } = openTestMirror();
  const makeRun = (job: string, minute: number, outcome: 'done' | 'failed'): void => {
    const id = startRun(db, job, time(minute), 5);
    finishRun(db, { id, outcome, reason: null, requests: 2, counts: {}, at: time(minute) });
  };
  makeRun('export', 0, 'done');
  makeRun('sync', 1, 'done');
  for (let minute = 2; minute <= 30; minute += 1) makeRun('sync', minute, 'failed');
  const kept = listRunsOfJob(db, 'sync', 100, []);
  expect(kept.map(({ startedAt }) => startedAt)).toEqual([30, 29, 28, 27, 26, 1].map(time));
  expect(newestSuccess(db, 'sync')?.startedAt).toBe(time(1));
  expect(listJobTotals(db, [])).toEqual([
    { job: 'export', outcomes: { done: 1 }, requests: 2, lastEndAt: time(0), lastDoneAt: time(0) },
    { job: 'sync', outcomes: { done: 1, failed: 29 }, requests: 60, lastEndAt: time(30), lastDoneAt: time(1) },
  ]);
});

it('counts a run that died once, when the next one records it', () => {
  const { db } = openTestMirror();
  startRun(db, 'sync', time(0));
  const died = { job: 'sync', outcomes: { interrupted: 1 }, requests: 0, lastEndAt: null, lastDoneAt: null };
  expect(listJobTotals(db, [])).toEqual([died]);
  startRun(db, 'export', time(1));
  expect(listJobTotals(db, [])).toMatchObject([{ job: 'export' }, { ...died, lastEndAt: time(1) }]);
});

it('removes many runs in parts', () => {
  const { db } = openTestMirror();
  const insert = db.prepare(
    `INSERT INTO runs (job, started_at, finished_at, outcome) VALUES ('sync', '2026', '2026', 'failed')`,
  );
  db.transaction(() => {
    for (let run = 0; run < 2_500; run += 1) insert.run();
  })();
  const counts = [1, 2, 3, 4].map(() => {
    const id = startRun(db, 'sync', time(1), 10);
    finishRun(db, { id, outcome: 'failed', reason: null, requests: 0, counts: {}, at: time(1) });
    return db.prepare(`SELECT count(*) FROM runs`).pluck().get();
  });
  expect(counts).toEqual([1501, 502, 10, 10]);
});

it('keeps the newest passes of each list and mode, and the newest complete one', () => {
  const { db } = openTestMirror();
  const makePass = (dataset: 'persons' | 'recordings', minute: number, reason: 'seam_not_joined' | null): number => {
    const id = startPass(db, { dataset, mode: 'full', plan: '{}', at: time(minute) }, 4);
    finishPass(db, id, reason, time(minute));
    return id;
  };
  const other = makePass('recordings', 0, 'seam_not_joined');
  makePass('persons', 1, null);
  const complete = makePass('persons', 2, null);
  const later = Array.from({ length: 20 }, (_pass, index) => makePass('persons', 3 + index, 'seam_not_joined'));
  const kept = db.prepare(`SELECT id FROM passes ORDER BY id`).pluck().all();
  expect(kept).toEqual([other, complete, ...later.slice(-4)]);
  expect(lastCompletePasses(db).map(({ id }) => id)).toEqual([complete]);
});

it('gives the disk back what a reader made the write-ahead log grow by', () => {
  const { db, dataDir } = openTestMirror();
  expect(db.pragma('journal_size_limit', { simple: true })).toBe(logBytesKept);
  db.pragma('journal_size_limit = 100000');
  const reader = openDatabaseReadOnly(dataDir);
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM runs').get();
  const write = (): unknown =>
    db.exec(`UPDATE run_totals SET runs = runs; CREATE TABLE t AS SELECT randomblob(1000000) AS b; DROP TABLE t`);
  for (let writes = 0; writes < 5; writes += 1) write();
  const held = readLogBytes(dataDir);
  db.pragma('wal_checkpoint(PASSIVE)');
  expect(readLogBytes(dataDir)).toBe(held);
  expect(held).toBeGreaterThan(4_000_000);
  reader.exec('COMMIT');
  reader.close();
  db.pragma('wal_checkpoint(PASSIVE)');
  db.exec(`CREATE TABLE small AS SELECT 1`);
  expect(readLogBytes(dataDir)).toBeLessThan(200_000);
});
