import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verifySnapshots } from '../../src/snapshot/verify.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { sweep } from '../kill/sweep.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { listAll, publishedRows } from './export-fixture.ts';
import { assertClears, copyOfPublished, exportWithFaults, tableRows } from './failing-export.ts';

test('one failed disk change at any step: a storage error, and the old snapshot untouched or the new one whole', async () => {
  let untouched = 0;
  const steps = await sweep(async (faultAt) => {
    const dataDir = copyOfPublished();
    const before = listAll(dataDir);
    const outcome = await exportWithFaults(dataDir, (step) => step === faultAt);
    expect([undefined, `storage: the disk is full (ENOSPC): ${dataDir}`]).toContain(outcome);
    expect((await verifySnapshots(publishedFilesIn(dataDir))).problems).toEqual([]);
    const rows = await publishedRows(dataDir);
    expect([2, 3]).toContain(rows?.length);
    expect(await tableRows(dataDir)).toEqual(rows);
    const isUntouched = rows?.length === 2;
    untouched += isUntouched ? 1 : 0;
    expect(isUntouched ? listAll(dataDir) : before).toEqual(before);
    expect(listAll(join(dataDir, 'tmp'))).toEqual([]);
    return outcome !== undefined;
  });
  expect(steps).toBeGreaterThan(20);
  expect(untouched).toBeGreaterThan(15);
});

// `export-dataset.crash.slow.test.ts` takes every step.
test('dead from some step on: readers find a whole snapshot, and the next export clears the rest', () =>
  assertClears(5));

test('one failed disk change at any step of the first export: nothing published, or all of it', async () => {
  const steps = await sweep(async (faultAt) => {
    const dataDir = temporaryFolder();
    const outcome = await exportWithFaults(dataDir, (step) => step === faultAt);
    const rows = await publishedRows(dataDir);
    expect([undefined, 3]).toContain(rows?.length);
    expect(await tableRows(dataDir)).toEqual(rows);
    const snapshots = join(dataDir, 'snapshots', 'distinct_ids');
    expect(existsSync(snapshots) ? listAll(snapshots).some((path) => path.includes('/')) : false).toBe(
      rows !== undefined,
    );
    return outcome !== undefined;
  });
  expect(steps).toBeGreaterThan(15);
});
