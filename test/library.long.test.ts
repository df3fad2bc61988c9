import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { exportSnapshots, openMirror, snapshots, sync } from '../src/library.ts';
import { openWorkspace, unlimited } from './cli/workspace.ts';

const settings = { 'log.level': 'silent', 'budget.windows': [] };

it('a program opens a mirror, makes passes and lists the snapshots', async () => {
  await using workspace = await openWorkspace();
  const mirror = openMirror({ environment: workspace.env, settings });
  expect(mirror.dataDir).toBe(workspace.dataDir);
  const passes = await sync(mirror);
  expect(passes.map(({ dataset, verdict, reason, rowsAdded }) => [dataset, verdict, reason, rowsAdded])).toEqual([
    ['persons', 'complete', null, 120],
    ['recordings', 'complete', null, 30],
  ]);
  expect(snapshots(mirror)).toEqual([]);
  expect(await workspace.run(['export', 'persons', ...unlimited])).toMatchObject({ code: 0 });
  expect(snapshots(mirror)).toMatchObject([
    {
      dataset: 'persons',
      kind: 'full',
      rows: 120,
      files: [{ path: expect.stringMatching(/^\/.*\.parquet$/), rows: 120 }],
    },
    { dataset: 'deletions', rows: 0 },
    { dataset: 'passes', rows: 2 },
  ]);
  await mirror.close();
});

it('an aborted run is interrupted, and an unknown dataset is a wrong use', async () => {
  await using workspace = await openWorkspace();
  const mirror = openMirror({ environment: workspace.env, settings });
  const interrupted = { name: 'AppError', code: 'interrupted' };
  await sync(mirror);
  await expect(sync(mirror, { signal: AbortSignal.abort() })).rejects.toMatchObject(interrupted);
  await expect(exportSnapshots(mirror, { signal: AbortSignal.abort() })).rejects.toMatchObject(interrupted);
  const db = new Database(join(workspace.dataDir, 'mirror.db'), { readonly: true });
  expect(db.prepare(`SELECT job, outcome FROM runs ORDER BY id DESC LIMIT 2`).raw().all()).toEqual([
    ['export', 'interrupted'],
    ['sync', 'interrupted'],
  ]);
  db.close();
  await expect(sync(mirror, { datasets: ['nope' as 'persons'] })).rejects.toMatchObject({ code: 'usage' });
  await mirror.close();
});

it('a wrong setting and a missing service are errors with a code', async () => {
  expect(() => openMirror({ settings: { 'persons.pagesize': 1 } })).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringContaining('persons.pagesize: unknown setting') }),
  );
  const mirror = openMirror({ settings });
  await expect(sync(mirror)).rejects.toMatchObject({ code: 'usage' });
  await mirror.close();
  expect(() => snapshots({ ...mirror })).toThrow('the mirror is closed, or was not opened with openMirror');
});
