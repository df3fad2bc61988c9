import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { settingsWith } from '../config/settings-with.ts';
import { scheduledJobs } from '../../src/config/settings.ts';
import { finishPass, startPass } from '../../src/mirror/passes.ts';
import { claimMirror, listRuns } from '../../src/mirror/runs.ts';
import { snapshotFolder } from '../snapshot/paths.ts';
import { runCheckpointJob, workerProject } from '../../src/worker/worker-project.ts';
import { exportDataset, exportRequest } from '../export/export-fixture.ts';
import { jobContext } from '../job/job-context.ts';
import { freshFolder, openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

it('signs the ledger, and reads back what the data folder has published', async () => {
  const { db, dataDir } = openTestMirror();
  const settings = settingsWith({ dataDir });
  const run = () => runCheckpointJob(jobContext({ db, settings, clock: stillClock }, {}));
  const { snapshotId } = await exportDataset(exportRequest(dataDir, { erasureEpoch: 0 }));
  await run();

  const part = join(snapshotFolder(dataDir, 'distinct_ids', snapshotId), 'part-00001.parquet');
  const whole = readFileSync(part);
  const damaged = Buffer.from(whole);
  damaged.write('oops', 40);
  writeFileSync(part, damaged);
  await run();
  writeFileSync(part, whole);
  await run();

  expect(listRuns(db, 9).map(({ outcome, reason, counts }) => [outcome, reason, counts])).toEqual([
    ['done', null, '{"entries":0,"files":7,"problems":0}'],
    ['incomplete', 'files_damaged', '{"entries":0,"files":7,"problems":1}'],
    ['done', null, '{"entries":0,"files":7,"problems":0}'],
  ]);
});

/** A project of the worker over a folder, with its settings. */
function projectOf({ db, dataDir }: ReturnType<typeof openTestMirror>, more: object = {}) {
  const settings = settingsWith({ dataDir, ...more });
  const parts = {
    name: 'shop',
    settings,
    keyFrom: '`MIRROR_API_KEY`',
    clock: stillClock,
    database: () => db,
    serviceContext: () => jobContext({ db, settings, clock: stillClock }, {}) as never,
  };
  return workerProject(parts, () => Promise.resolve({ outcome: 'done', counts: {} }));
}

it('has passes give way to reconcile and exports, and reconcile to exports, once each list was seen as a whole', () => {
  const mirror = openTestMirror();
  const { db } = mirror;
  const { givesWay } = projectOf(mirror);
  const guests = () => scheduledJobs.filter((job) => givesWay('full', job));
  const at = new Date(stillClock.now()).toISOString();
  for (const dataset of ['persons', 'recordings'] as const) {
    expect(guests()).toEqual([]);
    finishPass(db, startPass(db, { dataset, mode: 'full', plan: '{}', at }), null, at);
  }
  expect(guests()).toEqual(['reconcile', 'export', 'delta', 'load']);
  expect(scheduledJobs.filter((job) => job !== 'reconcile' && givesWay('reconcile', job))).toEqual(guests().slice(1));
  expect(givesWay('export', 'reconcile')).toBe(false);
});

it('loads the warehouse that the settings name, and has no time for it where they name none', async () => {
  const mirror = openTestMirror();
  expect(projectOf(mirror).schedule.load).toBe(null);
  await exportDataset(exportRequest(mirror.dataDir, { erasureEpoch: 0 }));
  const into = join(freshFolder(), 'warehouse.duckdb');
  const { schedule, run } = projectOf(mirror, { 'export.load.into': into });
  expect(schedule.load).toBe('50 * * * *');
  await run('load', new AbortController().signal);
  expect(listRuns(mirror.db, 1)).toMatchObject([{ job: 'load', outcome: 'done', counts: '{"changed":1}' }]);
  expect(existsSync(into)).toBe(true);
});

it('says at its first look that the data folder mirrors another project', () => {
  const mirror = openTestMirror();
  const service = { ...settingsWith({}).service, baseUrl: 'https://a.example', projectId: '1' };
  const lookAs = (more: object) => () => projectOf(mirror, { service: { ...service, ...more } }).readCondition();
  claimMirror(mirror.db, { origin: service.baseUrl, projectId: service.projectId }, null);
  expect(lookAs({ projectId: '77' })).not.toThrow();
  mirror.db.exec(/*sql*/ `INSERT INTO changes (dataset, key, op, at) VALUES ('persons', 'a', 'upsert', '')`);
  expect(lookAs({})).not.toThrow();
  expect(lookAs({ projectId: '77' })).toThrow('the data folder mirrors project 1 of https://a.example');
  expect(lookAs({ baseUrl: 'https://b.example', movedFrom: service.baseUrl })).not.toThrow();
});
