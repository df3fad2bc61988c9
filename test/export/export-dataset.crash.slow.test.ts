import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifySnapshots } from '../../src/snapshot/verify.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { runScript } from '../cli/run-cli.ts';
import { anyOperation } from '../kill/kill-point.ts';
import { runUpTo } from '../kill/killed-run.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { exportCount, listAll, publishedRows } from './export-fixture.ts';
import { assertClears, assertUntouchedOrWhole } from './failing-export.ts';

const child = runScript(new URL('export-child.ts', import.meta.url));

/** Runs an export up to an operation or a named point. Returns whether it was killed there. */
async function survivesKill(operation: string, nth: number): Promise<boolean> {
  const dataDir = temporaryFolder();
  await exportCount(dataDir, 1);
  await exportCount(dataDir, 2);
  const { isKilled } = await runUpTo(child, [dataDir], { operation, nth, moment: 'before' });
  const rows = await publishedRows(dataDir);
  expect([2, 30_000]).toContain(rows?.length);
  const { problems } = await verifySnapshots(publishedFilesIn(dataDir));
  expect(problems.filter(({ problem }) => problem !== 'unnamed')).toEqual([]);
  await exportCount(dataDir, 7);
  expect(await publishedRows(dataDir)).toHaveLength(7);
  const folders = listAll(join(dataDir, 'snapshots', 'distinct_ids')).filter((path) => !path.includes('/'));
  expect(folders).toEqual([expect.stringMatching(/Z$/), expect.stringMatching(/Z$/), 'metadata']);
  expect(listAll(join(dataDir, 'tmp'))).toEqual([]);
  return isKilled;
}

test('killed before any change of the disk, what is published stays whole', async () => {
  let step = 1;
  while (await survivesKill(anyOperation.disk, step)) step += 1;
  expect(step).toBeGreaterThan(20);
});

test.for([1, 10_000, 12_000, 20_000, 30_000])(
  'killed with %d rows written, what is published stays whole',
  async (rows) => {
    expect(await survivesKill(`${rows} rows`, 1)).toBe(true);
  },
);

test('dead from any step on: readers find a whole snapshot, and the next export clears the rest', async () => {
  expect(await assertClears(1)).toBeGreaterThan(0);
});

test('one failed disk change at any step: a storage error, and the old snapshot untouched or the new one whole', () =>
  assertUntouchedOrWhole(1));
