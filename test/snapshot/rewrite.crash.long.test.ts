import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nobody } from '../../src/contract/identity.ts';
import { filesWithoutSnapshot, readIcebergTable } from './iceberg/table-reader.ts';
import { datasetFolder, snapshotFolder } from './paths.ts';
import { listPublishedParts } from '../../src/snapshot/published-parts.ts';
import { removeUnnamedParts } from '../../src/snapshot/publish.ts';
import { rewriteSnapshot } from '../../src/snapshot/rewrite.ts';
import { verifySnapshots } from '../../src/snapshot/verify.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { listAll } from '../export/export-fixture.ts';
import { breakDisk } from '../kill/broken-disk.ts';
import { publishRows, rowsOfSnapshot } from './publish-rows.ts';
import { personRow } from './rows.ts';
import { temporaryFolder } from './temporary-folder.ts';

const snapshotId = '20261120T125500.123Z';
const options = { epoch: 4, signal: new AbortController().signal };
const subject = { ...nobody, person_uuid: ['a', 'd'] };
const oldParts = ['part-00001.parquet', 'part-00002.parquet', 'part-00003.parquet'];
const newParts = ['part-00003.parquet', 'part-00004.parquet', 'part-00005.parquet'];

/** A snapshot of three parts, two of which hold the subject. */
const published = mkdtempSync(join(tmpdir(), 'mirror-published-'));

beforeAll(async () => {
  const rows = ['a', 'b', 'c', 'd', 'e'].map((key) => personRow(key));
  await publishRows(published, 'persons', rows, { partRows: 2 });
});
afterAll(() => rmSync(published, { recursive: true }));

function copyOfPublished(): string {
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

/** Runs `check` for the first step, the second, and so on until it meets no fault; how many it met. */
async function sweep(check: (faultAt: number) => Promise<boolean>): Promise<number> {
  let faultAt = 1;
  while (await check(faultAt)) faultAt += 1;
  return faultAt - 1;
}

const rewrite = (dataDir: string) => (): Promise<unknown> =>
  rewriteSnapshot(publishedFilesIn(dataDir), 'persons', snapshotId, oldParts.slice(0, 2), [subject], options);

/** What readers find: the old rows or the new ones, whole. Returns which. */
async function readersFind(dataDir: string): Promise<'old' | 'new'> {
  const { manifest, parts } = await rowsOfSnapshot(dataDir, 'persons', snapshotId);
  const keys = parts.flat().map(({ person_uuid: key }) => key);
  const isOld = keys.length === 5;
  expect(keys).toEqual(isOld ? ['a', 'b', 'c', 'd', 'e'] : ['b', 'c', 'e']);
  expect(manifest.erasure_epoch).toBe(isOld ? 3 : 4);
  // The table follows the manifest.
  const { rows } = await readIcebergTable(datasetFolder(dataDir, 'persons'));
  const inTable = rows.map(({ person_uuid: key }) => key);
  expect(isOld || inTable.length < 5 ? keys : ['a', 'b', 'c', 'd', 'e']).toEqual(inTable);
  return isOld ? 'old' : 'new';
}

/** Nothing lies in the snapshot's folder but what its manifest names, nor anything in the temporary folder. */
async function expectClean(dataDir: string): Promise<void> {
  const isOld = (await readersFind(dataDir)) === 'old';
  const { rows } = await readIcebergTable(datasetFolder(dataDir, 'persons'));
  expect(rows).toHaveLength(isOld ? 5 : 3);
  expect(await filesWithoutSnapshot(datasetFolder(dataDir, 'persons'))).toEqual([]);
  expect(listAll(snapshotFolder(dataDir, 'persons', snapshotId))).toEqual([
    'manifest.json',
    ...(isOld ? oldParts : newParts),
  ]);
  expect(listAll(join(dataDir, 'tmp'))).toEqual([]);
}

test('one failed disk change at any step: readers find all of the old parts or of the new, and nothing else lies there', async () => {
  const found: string[] = [];
  const steps = await sweep(async (faultAt) => {
    const dataDir = copyOfPublished();
    const isMet = await meetsFault((step) => step === faultAt, rewrite(dataDir));
    found.push(await readersFind(dataDir));
    removeUnnamedParts(publishedFilesIn(dataDir));
    await expectClean(dataDir);
    expect((await verifySnapshots(publishedFilesIn(dataDir))).problems).toEqual([]);
    return isMet;
  });
  expect(steps).toBeGreaterThan(15);
  expect(new Set(found)).toEqual(new Set(['old', 'new']));
}, 240_000);

test('dead from any step on, and again from any step of the recovery on: the next recovery clears it all', async () => {
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
    });
    // Without a recovery before it, too.
    await rewrite(broken)();
    expect(await readersFind(broken)).toBe('new');
    await expectClean(broken);
    return isMet;
  });
  expect(steps).toBeGreaterThan(15);
  expect(recoveries).toBeGreaterThan(steps);
}, 480_000);

test('recovery removes parts without a name, drafts, and what was never published, and nothing else', () => {
  const dataDir = copyOfPublished();
  const folder = snapshotFolder(dataDir, 'persons', snapshotId);
  const before = listAll(dataDir);
  const parts = listPublishedParts(publishedFilesIn(dataDir));
  const never = '20261120T125501.000Z';
  mkdirSync(snapshotFolder(dataDir, 'persons', never));
  writeFileSync(join(snapshotFolder(dataDir, 'persons', never), 'part-00001.parquet'), 'x');
  writeFileSync(join(folder, 'part-00009.parquet'), 'x');
  writeFileSync(join(folder, 'manifest.json.draft-7'), 'x');
  mkdirSync(join(dataDir, 'tmp', `snapshot-recordings-${never}`));
  removeUnnamedParts(publishedFilesIn(dataDir));
  expect(listAll(dataDir)).toEqual(before);
  expect(listPublishedParts(publishedFilesIn(dataDir))).toEqual(parts);
  removeUnnamedParts(publishedFilesIn(dataDir));
  expect(listAll(dataDir)).toEqual(before);
});

test('recovery deletes nothing where a manifest is damaged', () => {
  const dataDir = copyOfPublished();
  const folder = snapshotFolder(dataDir, 'persons', snapshotId);
  writeFileSync(join(folder, 'part-00009.parquet'), 'x');
  writeFileSync(join(folder, 'manifest.json'), '{');
  const before = listAll(dataDir);
  expect(() => removeUnnamedParts(publishedFilesIn(dataDir))).toThrow(
    expect.objectContaining({ code: 'storage' }) as Error,
  );
  expect(listAll(dataDir)).toEqual(before);
});
