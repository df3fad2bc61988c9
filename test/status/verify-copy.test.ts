import { execFileSync } from 'node:child_process';
import { appendFileSync, copyFileSync, mkdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { settingsWith } from '../config/settings-with.ts';
import { publishedDatasets } from '../../src/contract/datasets.ts';
import { nobody } from '../../src/contract/identity.ts';
import { rewriteSnapshot } from '../../src/snapshot/rewrite.ts';
import { folderSource, openCopySource } from '../../src/status/copy-source.ts';
import { verifyCopy } from '../../src/status/verify-copy.ts';
import { exportCount } from '../export/export-fixture.ts';
import { openCopy, signal } from './copy-fixture.ts';

test('a whole copy has nothing wrong, with or without manifests, and beside files of others', async () => {
  const { copy, path, verify, folder, published, snapshotId } = await openCopy();
  copy();
  const { files } = published.readManifest({ dataset: 'distinct_ids', snapshotId });
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  writeFileSync(join(folder, 'part-00001.parquet'), 'of somebody else');
  writeFileSync(path('_SUCCESS'), '');
  expect(await verify()).toMatchObject({ files: 8, problems: [] });
  rmSync(path('manifest.json'));
  expect(await verify()).toMatchObject({ problems: [] });
  rmSync(path('', 'metadata'), { recursive: true });
  expect(await verify()).toEqual({ files: 3, bytes, isListed: true, problems: [] });
});

test('what is missing and what differs is named', async () => {
  const { copy, path, place, problems } = await openCopy();
  copy();
  rmSync(path('part-00001.parquet'));
  appendFileSync(path('part-00002.parquet'), 'x');
  appendFileSync(path('manifest.json'), ' ');
  expect(await problems()).toEqual([
    { file: join('lake', 'mirror', place('manifest.json')), problem: 'differs' },
    { file: join('lake', 'mirror', place('part-00002.parquet')), problem: 'differs' },
    { file: place('part-00001.parquet'), problem: 'missing' },
  ]);
  expect(await problems(['persons'])).toEqual([]);
});

test('a part under another name, doubled, in the place of another, or of another snapshot is named', async () => {
  const { copy, path, place, problems } = await openCopy();
  copy();
  const there = (name: string): string => join('lake', 'mirror', place(name));
  renameSync(path('part-00001.parquet'), path('persons.parquet'));
  copyFileSync(path('part-00002.parquet'), path('part-00002 (1).parquet'));
  copyFileSync(path('part-00002.parquet'), path('part-00003.parquet'));
  truncateSync(path('part-00002.parquet'), 100);
  expect(await problems()).toEqual([
    { file: there('part-00002 (1).parquet'), problem: 'stray' },
    { file: there('part-00002.parquet'), problem: 'differs' },
    { file: there('part-00003.parquet'), problem: 'differs' },
    { file: there('persons.parquet'), problem: 'stray' },
    { file: place('part-00001.parquet'), problem: 'missing' },
  ]);
});

test('a part that an erasure has replaced, and the keys in an old manifest, are named', async () => {
  const { copy, place, problems, published, snapshotId } = await openCopy();
  copy();
  const subject = { ...nobody, distinct_id: ['d00000000'] };
  await rewriteSnapshot(published, 'distinct_ids', snapshotId, ['part-00001.parquet'], [subject], { epoch: 4, signal });
  expect(await problems()).toEqual([
    { file: join('lake', 'mirror', place('manifest.json')), problem: 'differs' },
    { file: join('lake', 'mirror', place('part-00001.parquet')), problem: 'replaced' },
    { file: place('part-00004.parquet'), problem: 'missing' },
  ]);
});

test('a snapshot that is published no more is named, and an older one that is published is not', async () => {
  const { copy, dataDir, place, path, problems } = await openCopy();
  copy();
  const newer = await exportCount(dataDir, 3, 2);
  copy();
  expect(await problems()).toEqual([]);
  const newest = await exportCount(dataDir, 2, 1);
  const gone = [
    ...['manifest.json', 'part-00001.parquet', 'part-00002.parquet', 'part-00003.parquet'].map((name) => place(name)),
    ...['manifest.json', 'part-00001.parquet'].map((name) => place(name, newer.snapshotId)),
  ].map((file) => ({ file: join('lake', 'mirror', file), problem: 'retired' }));
  const awaited = { file: place('part-00001.parquet', newest.snapshotId), problem: 'missing' };
  expect(await problems()).toEqual([...gone, awaited]);
  // Under another name it may hold erased people all the same.
  renameSync(path('part-00001.parquet'), path('mine.parquet'));
  expect(await problems()).toHaveLength(7);
});

test('an old table is named file by file, and the files of the table that its hint leads to', async () => {
  const { copy, dataDir, path, place, verify } = await openCopy();
  copy();
  await exportCount(dataDir, 3, 1);
  const found = (await verify()).problems.filter(({ file }) => file.includes('/metadata/'));
  const kinds = (problem: string) => found.filter((one) => one.problem === problem).map(({ file }) => file);
  expect(kinds('differs')).toEqual([join('lake', 'mirror', place('version-hint.text', 'metadata'))]);
  expect(kinds('retired').some((file) => file.endsWith('.metadata.json'))).toBe(true);
  expect(kinds('missing').some((file) => file.endsWith('.metadata.json'))).toBe(true);
  rmSync(path('', 'metadata'), { recursive: true });
  expect((await verify()).problems.filter(({ file }) => file.includes('/metadata/'))).toEqual([]);
});

test('a folder that is not there is a mistake of the user', async () => {
  const { published, folder } = await openCopy();
  mkdirSync(join(folder, 'empty'));
  const verify = (name: string) =>
    verifyCopy({ published, datasets: publishedDatasets, gone: () => [] }, folderSource(join(folder, name)), signal);
  await expect(verify('none')).rejects.toMatchObject({ code: 'usage' });
  expect((await verify('empty')).problems).toHaveLength(3);
});

test('a pipe in the place of a file keeps nobody waiting', async () => {
  const { copy, path, place, problems } = await openCopy();
  copy();
  rmSync(path('part-00001.parquet'));
  execFileSync('mkfifo', [path('part-00001.parquet')]);
  expect(await problems()).toEqual([{ file: place('part-00001.parquet'), problem: 'missing' }]);
});

test.each([
  'http://warehouse.example/lake',
  'https://ann:secret@warehouse.example/lake',
  'https://warehouse.example/lake?sig=secret',
  'gs://lake/mirror',
  's3://Lake',
])('%s is no place of a copy, and no secret of it is repeated', async (place) => {
  const refused = openCopySource(place, settingsWith({}), signal);
  await expect(refused).rejects.toMatchObject({ code: 'usage' });
  await expect(refused).rejects.not.toThrow(/secret/);
});
