import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sweep } from '../kill/sweep.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { listAll, publishedRows } from './export-fixture.ts';
import { assertClears, assertUntouchedOrWhole, exportWithFaults, tableRows } from './failing-export.ts';

// `export-dataset.crash.slow.test.ts` takes every step of both.
test('one failed disk change: a storage error, and the old snapshot untouched or the new one whole', () =>
  assertUntouchedOrWhole(3));

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
