import { expect, it } from 'vitest';
import { openMirror, snapshots, sync } from '../src/library.ts';
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
  await expect(sync(mirror, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
  await mirror.close();
});

it('a wrong setting and a missing service are errors with a code', async () => {
  expect(() => openMirror({ settings: { 'persons.pagesize': 1 } })).toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringContaining('persons.pagesize: unknown setting') }),
  );
  const mirror = openMirror({ settings });
  await expect(sync(mirror)).rejects.toMatchObject({ code: 'usage' });
  await mirror.close();
  expect(() => snapshots({ ...mirror })).toThrow('the mirror was not opened with openMirror');
});
