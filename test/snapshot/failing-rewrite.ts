import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { nobody } from '../../src/contract/identity.ts';
import { removeUnnamedParts } from '../../src/snapshot/publish.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { rewriteSnapshot } from '../../src/snapshot/rewrite.ts';
import { verifySnapshots } from '../../src/snapshot/verify.ts';
import { exportDataset, exportRequest, listAll } from '../export/export-fixture.ts';
import { breakDisk } from '../kill/broken-disk.ts';
import { sweep } from '../kill/sweep.ts';
import { filesWithoutSnapshot, readIcebergTable } from './iceberg/table-reader.ts';
import { datasetFolder, snapshotFolder } from './paths.ts';
import { publishRows, rowsOfSnapshot } from './publish-rows.ts';
import { personRow } from './rows.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Its id. */
export const snapshotId = '20261120T125500.123Z';
const options = { epoch: 4, signal: new AbortController().signal };
const subject = { ...nobody, person_uuid: ['a', 'd'] };
const oldParts = ['part-00001.parquet', 'part-00002.parquet', 'part-00003.parquet'];
const newParts = ['part-00003.parquet', 'part-00004.parquet', 'part-00005.parquet'];

/** A snapshot of three parts, two of which hold the subject; a delta of it, without `b`; and a newer full snapshot. */
const published = mkdtempSync(join(tmpdir(), 'mirror-published-'));

beforeAll(async () => {
  const rows = ['a', 'b', 'c', 'd', 'e'].map((key) => personRow(key));
  await publishRows(published, 'persons', rows, { partRows: 2 });
  const request = exportRequest(published, {
    dataset: 'persons',
    rows: [personRow('c')],
    settings: { partRows: 2, keep: 100, promote: [], mask: [] },
    continues: { basedOn: snapshotId, deletions: snapshotId },
  });
  await exportDataset({ ...request, table: { location: datasetFolder(published, 'persons'), gone: () => ['b'] } });
  await publishRows(published, 'persons', [personRow('x')]);
});
afterAll(() => rmSync(published, { recursive: true }));

/** A copy of that snapshot's data folder. */
export function copyOfPublished(): string {
  const dataDir = temporaryFolder();
  cpSync(published, dataDir, { recursive: true });
  return dataDir;
}

/** Runs `work` while disk changes fail as `isBroken` says; whether any did. */
async function meetsFault(isBroken: (step: number) => boolean, work: () => unknown): Promise<boolean> {
  const disk = breakDisk(isBroken, 'EIO');
  try {
    await work();
  } catch (error) {
    if (disk.faults() === 0) throw error;
  } finally {
    disk.mend();
  }
  return disk.faults() > 0;
}

/** Rewrites the snapshot without the subject. */
const rewrite = (dataDir: string) => (): Promise<unknown> =>
  rewriteSnapshot(publishedFilesIn(dataDir), 'persons', snapshotId, oldParts.slice(0, 2), [subject], options);

/** What readers find: the old rows or the new ones, whole. Returns which. */
async function readersFind(dataDir: string): Promise<'old' | 'new'> {
  return (await find(dataDir)).isOld ? 'old' : 'new';
}

/** Whether readers find the old rows, whole, or the new ones; and what the table shows. */
async function find(dataDir: string): Promise<{ isOld: boolean; inTable: unknown[][] }> {
  const { manifest, parts } = await rowsOfSnapshot(dataDir, 'persons', snapshotId);
  const keys = parts.flat().map(({ person_uuid: key }) => key);
  const isOld = keys.length === 5;
  expect(keys).toEqual(isOld ? ['a', 'b', 'c', 'd', 'e'] : ['b', 'c', 'e']);
  expect(manifest.erasure_epoch).toBe(isOld ? 3 : 4);
  // The table follows the manifest.
  const inTable = await readPast(dataDir);
  expect(isOld ? [past.old] : [past.old, past.new]).toContainEqual(inTable);
  return { isOld, inTable };
}

const past = {
  old: [['a', 'b', 'c', 'd', 'e'], ['a', 'd', 'e', 'c'], ['x']],
  new: [['b', 'c', 'e'], ['e', 'c'], ['x']],
};

/** The keys that the table shows, in each of its snapshots. */
async function readPast(dataDir: string): Promise<unknown[][]> {
  const folder = datasetFolder(dataDir, 'persons');
  const { snapshotIds } = await readIcebergTable(folder);
  const tables = await Promise.all(snapshotIds.map((id) => readIcebergTable(folder, id)));
  return tables.map(({ rows }) => rows.map(({ person_uuid: key }) => key));
}

/**
 * Nothing lies in the snapshot's folder but what its manifest names, nor anything in the temporary folder. Returns what readers find,
 * also in the table.
 */
async function expectClean(dataDir: string): Promise<'old' | 'new'> {
  const { isOld, inTable } = await find(dataDir);
  expect(inTable).toEqual(isOld ? past.old : past.new);
  expect(await filesWithoutSnapshot(datasetFolder(dataDir, 'persons'))).toEqual([]);
  expect(listAll(snapshotFolder(dataDir, 'persons', snapshotId))).toEqual([
    'manifest.json',
    ...(isOld ? oldParts : newParts),
  ]);
  expect(listAll(join(dataDir, 'tmp'))).toEqual([]);
  return isOld ? 'old' : 'new';
}

/** One disk change fails, each so many steps: readers find all of the old parts or of the new, and nothing else lies there. */
export async function assertWhole(stride: number): Promise<void> {
  const found: string[] = [];
  const steps = await sweep(async (faultAt) => {
    const dataDir = copyOfPublished();
    const isMet = await meetsFault((step) => step === faultAt, rewrite(dataDir));
    found.push(await readersFind(dataDir));
    removeUnnamedParts(publishedFilesIn(dataDir));
    await expectClean(dataDir);
    expect((await verifySnapshots(publishedFilesIn(dataDir))).problems).toEqual([]);
    return isMet;
  }, stride);
  expect(steps).toBeGreaterThan(15 / stride);
  expect(new Set(found)).toEqual(new Set(['old', 'new']));
}

/** Dies from a step on, and again from a step of the recovery on, each so many steps: the next recovery clears it all. */
export async function assertRecovers(stride: number): Promise<void> {
  let recoveries = 0;
  const steps = await sweep(async (faultAt) => {
    const broken = copyOfPublished();
    const isMet = await meetsFault((step) => step >= faultAt, rewrite(broken));
    const state = await readersFind(broken);
    recoveries += await sweep(async (secondFaultAt) => {
      const dataDir = temporaryFolder();
      cpSync(broken, dataDir, { recursive: true });
      const isMetAgain = await meetsFault(
        (step) => step >= secondFaultAt,
        () => removeUnnamedParts(publishedFilesIn(dataDir)),
      );
      expect(await readersFind(dataDir)).toBe(state);
      removeUnnamedParts(publishedFilesIn(dataDir));
      await expectClean(dataDir);
      return isMetAgain;
    }, stride);
    // Without a recovery before it, too.
    await rewrite(broken)();
    expect(await expectClean(broken)).toBe('new');
    return isMet;
  }, stride);
  expect(steps).toBeGreaterThan(15 / stride);
  expect(recoveries).toBeGreaterThan(steps / stride);
}
