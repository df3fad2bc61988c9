import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { currentPath, snapshotFolder, snapshotsFolder } from './paths.ts';
import { syncedPaths } from '../core/failing-call.ts';
import { wholeFileBytesMax } from '../../src/core/folder.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { exportDataset, exportRequest } from '../export/export-fixture.ts';
import { temporaryFolder } from './temporary-folder.ts';

const entry = { snapshot_id: '20261120T125500.123Z', manifest: 'persons/20261120T125500.123Z/manifest.json' };

test('where nothing was published CURRENT is empty', () => {
  expect(publishedFilesIn(temporaryFolder()).readCurrent()).toEqual({ format_version: 1, snapshots: {} });
});

test.for([
  ['no JSON', 'not JSON'],
  ['half a file', '{"format_version":1,"snap'],
  ['another format version', JSON.stringify({ format_version: 2, snapshots: {} })],
  [
    'a path for an id',
    JSON.stringify({ format_version: 1, snapshots: { persons: { ...entry, snapshot_id: '../..' } } }),
  ],
  ['a path for a dataset', JSON.stringify({ format_version: 1, snapshots: { '../x': entry } })],
] as const)('refuses a CURRENT that holds %s', ([, content]) => {
  const dataDir = temporaryFolder();
  mkdirSync(snapshotsFolder(dataDir));
  writeFileSync(currentPath(dataDir), content);
  expect(() => publishedFilesIn(dataDir).readCurrent()).toThrow(
    expect.objectContaining({
      name: 'AppError',
      code: 'storage',
      message: expect.stringContaining('CURRENT.json is damaged') as string,
    }) as Error,
  );
});

test.for([
  ['a file name that leads elsewhere', '"part-00001.parquet"', '"../../../mirror.db"'],
  ['an unknown column type', '"type": "string"', '"type": "json"'],
  ['a digest of the wrong length', /"sha256": "../, '"sha256": "'],
  ['no files', /"files": \[[^]*?\],\n {2}"columns"/, '"files": [],\n  "columns"'],
] as const)('refuses a manifest with %s', async ([, from, to]) => {
  const dataDir = temporaryFolder();
  const { snapshotId } = await exportDataset(exportRequest(dataDir));
  const path = join(snapshotFolder(dataDir, 'distinct_ids', snapshotId), 'manifest.json');
  const sound = readFileSync(path, 'utf8');
  const damaged = sound.replace(from, to);
  expect(damaged).not.toBe(sound);
  writeFileSync(path, damaged);
  expect(() => publishedFilesIn(dataDir).readManifest({ dataset: 'distinct_ids', snapshotId })).toThrow(
    expect.objectContaining({ code: 'storage', hint: 'export distinct_ids again' }) as Error,
  );
});

test('the folders of a first export stay after a power cut', async () => {
  const dataDir = realpathSync(temporaryFolder());
  const synced = syncedPaths();
  await exportDataset(exportRequest(dataDir));
  expect(synced).toEqual(expect.arrayContaining([dataDir, snapshotsFolder(dataDir)]));
  const folder = join(snapshotsFolder(dataDir), 'persons', 'metadata');
  publishedFilesIn(dataDir).writeFile({ dataset: 'persons', snapshotId: 'metadata' }, 'a.avro', Buffer.alloc(1));
  expect(synced).toEqual(expect.arrayContaining([join(folder, '..'), folder]));
});

test('nothing is written that is larger than what is read whole', () => {
  const published = publishedFilesIn(temporaryFolder());
  const metadata = { dataset: 'persons', snapshotId: 'metadata' };
  published.writeFile(metadata, 'a.avro', Buffer.alloc(wholeFileBytesMax));
  expect(() => published.writeFile(metadata, 'b.avro', Buffer.alloc(wholeFileBytesMax + 1))).toThrow(
    expect.objectContaining({ code: 'usage', hint: expect.stringContaining('export.partRows') as string }) as Error,
  );
  expect(published.listFiles(metadata)).toEqual(['a.avro']);
});
