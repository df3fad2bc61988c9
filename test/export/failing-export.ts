import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { verifySnapshots } from '../../src/snapshot/verify.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { breakDisk } from '../kill/broken-disk.ts';
import { sweep } from '../kill/sweep.ts';
import { filesWithoutSnapshot, readIcebergTable } from '../snapshot/iceberg/table-reader.ts';
import { datasetFolder } from '../snapshot/paths.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { exportCount, listAll, publishedRows } from './export-fixture.ts';

const keep = 2;

/** Two snapshots of 1 and 2 rows, so that the next export also has one to remove. */
const published = mkdtempSync(join(tmpdir(), 'mirror-published-'));

beforeAll(async () => {
  await exportCount(published, 1, keep);
  await exportCount(published, 2, keep);
});
afterAll(() => rmSync(published, { recursive: true }));

/** A copy of that data folder. */
function copyOfPublished(): string {
  const dataDir = temporaryFolder();
  cpSync(published, dataDir, { recursive: true });
  return dataDir;
}

/** The rows that a reader of the table finds; undefined where there is no table. */
export async function tableRows(dataDir: string): Promise<unknown[] | undefined> {
  const folder = datasetFolder(dataDir, 'distinct_ids');
  return existsSync(join(folder, 'metadata/version-hint.text')) ? (await readIcebergTable(folder)).rows : undefined;
}

/** Exports 3 rows while disk changes fail as `isBroken` says; the words of its error, undefined when it came through. */
export async function exportWithFaults(
  dataDir: string,
  isBroken: (step: number) => boolean,
): Promise<string | undefined> {
  const disk = breakDisk(isBroken);
  try {
    await exportCount(dataDir, 3, keep);
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return `${error.code}: ${error.message}`;
    throw error;
  } finally {
    disk.mend();
  }
}

/** One disk change fails, each so many steps: a storage error, and the old snapshot is untouched or the new one whole. */
export async function assertUntouchedOrWhole(stride: number): Promise<void> {
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
  }, stride);
  expect(steps).toBeGreaterThan(20 / stride);
  expect(untouched).toBeGreaterThan(15 / stride);
}

/**
 * Dies from a step on, each so many steps: readers find a whole snapshot, and the next export clears the rest. Returns how often the
 * table was behind what is published.
 */
export async function assertClears(stride: number): Promise<number> {
  let behind = 0;
  const steps = await sweep(async (faultAt) => {
    const dataDir = copyOfPublished();
    const outcome = await exportWithFaults(dataDir, (step) => step >= faultAt);
    const rows = await publishedRows(dataDir);
    expect([2, 3]).toContain(rows?.length);
    // The hint comes after CURRENT: whoever follows it finds the old table or the new one.
    const found = await tableRows(dataDir);
    expect([2, rows?.length]).toContain(found?.length);
    if (found?.length !== rows?.length) behind += 1;
    const { problems } = await verifySnapshots(publishedFilesIn(dataDir));
    expect(problems.filter(({ problem }) => problem !== 'unnamed')).toEqual([]);
    const { snapshotId } = await exportCount(dataDir, 4, keep);
    expect(await publishedRows(dataDir)).toHaveLength(4);
    expect(await tableRows(dataDir)).toHaveLength(4);
    expect(await filesWithoutSnapshot(datasetFolder(dataDir, 'distinct_ids'))).toEqual([]);
    const snapshots = listAll(join(dataDir, 'snapshots', 'distinct_ids')).filter((path) => /^\d[^/]*$/.test(path));
    expect(snapshots).toHaveLength(keep);
    expect(snapshots.at(-1)).toBe(snapshotId);
    expect(listAll(join(dataDir, 'tmp'))).toEqual([]);
    return outcome !== undefined;
  }, stride);
  expect(steps).toBeGreaterThan(20 / stride);
  return behind;
}
