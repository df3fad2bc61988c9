import { appendFileSync, cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { publishedDatasets } from '../../src/contract/datasets.ts';
import { nobody } from '../../src/contract/identity.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { rewriteSnapshot } from '../../src/snapshot/rewrite.ts';
import { verifyCopy } from '../../src/status/verify-copy.ts';
import { exportCount } from '../export/export-fixture.ts';
import { snapshotsFolder } from '../snapshot/paths.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

const { signal } = new AbortController();

/** Ten distinct ids in three parts, and a consumer's copy of them deep in a folder of its own. */
async function openCopy() {
  const dataDir = temporaryFolder();
  const { snapshotId } = await exportCount(dataDir, 10, 1);
  const folder = temporaryFolder();
  const copy = join(folder, 'lake', 'mirror');
  const published = publishedFilesIn(dataDir);
  return {
    dataDir,
    folder,
    published,
    /** Copies what is published now. */
    copy: () => cpSync(snapshotsFolder(dataDir), copy, { recursive: true }),
    path: (name: string, id = snapshotId) => join(copy, 'distinct_ids', id, name),
    place: (name: string, id = snapshotId) => `distinct_ids/${id}/${name}`,
    snapshotId,
    verify: (datasets: readonly (typeof publishedDatasets)[number][] = publishedDatasets) =>
      verifyCopy(published, folder, datasets, signal),
  };
}

test('a whole copy has nothing wrong, with or without manifests, and beside files of others', async () => {
  const { copy, path, verify, folder, published, snapshotId } = await openCopy();
  copy();
  const { files } = published.readManifest({ dataset: 'distinct_ids', snapshotId });
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  writeFileSync(join(folder, 'part-00001.parquet'), 'of somebody else');
  writeFileSync(path('_SUCCESS'), '');
  expect(await verify()).toMatchObject({ files: 4, problems: [] });
  rmSync(path('manifest.json'));
  expect(await verify()).toEqual({ files: 3, bytes, problems: [] });
});

test('what is missing and what differs is named', async () => {
  const { copy, path, place, verify } = await openCopy();
  copy();
  rmSync(path('part-00001.parquet'));
  appendFileSync(path('part-00002.parquet'), 'x');
  appendFileSync(path('manifest.json'), ' ');
  expect((await verify()).problems).toEqual([
    { file: join('lake', 'mirror', place('manifest.json')), problem: 'differs' },
    { file: join('lake', 'mirror', place('part-00002.parquet')), problem: 'differs' },
    { file: place('part-00001.parquet'), problem: 'missing' },
  ]);
  expect((await verify(['persons'])).problems).toEqual([]);
});

test('a part that an erasure has replaced, and the keys in an old manifest, are named', async () => {
  const { copy, place, verify, published, snapshotId } = await openCopy();
  copy();
  const subject = { ...nobody, distinct_id: ['d00000000'] };
  await rewriteSnapshot(published, 'distinct_ids', snapshotId, ['part-00001.parquet'], [subject], { epoch: 4, signal });
  expect((await verify()).problems).toEqual([
    { file: join('lake', 'mirror', place('manifest.json')), problem: 'differs' },
    { file: join('lake', 'mirror', place('part-00001.parquet')), problem: 'replaced' },
    { file: place('part-00004.parquet'), problem: 'missing' },
  ]);
});

test('a snapshot that is published no more is named, and an older one that is published is not', async () => {
  const { copy, dataDir, place, path, verify } = await openCopy();
  copy();
  const newer = await exportCount(dataDir, 3, 2);
  copy();
  expect((await verify()).problems).toEqual([]);
  const newest = await exportCount(dataDir, 2, 1);
  const gone = [
    ...['manifest.json', 'part-00001.parquet', 'part-00002.parquet', 'part-00003.parquet'].map((name) => place(name)),
    ...['manifest.json', 'part-00001.parquet'].map((name) => place(name, newer.snapshotId)),
  ].map((file) => ({ file: join('lake', 'mirror', file), problem: 'retired' }));
  const awaited = { file: place('part-00001.parquet', newest.snapshotId), problem: 'missing' };
  expect((await verify()).problems).toEqual([...gone, awaited]);
  // Under another name it is no copy of ours.
  renameSync(path('part-00001.parquet'), path('mine.parquet'));
  expect((await verify()).problems).toHaveLength(6);
});

test('a folder that is not there is a mistake of the user', async () => {
  const { published, folder } = await openCopy();
  mkdirSync(join(folder, 'empty'));
  await expect(verifyCopy(published, join(folder, 'none'), publishedDatasets, signal)).rejects.toMatchObject({
    code: 'usage',
  });
  expect((await verifyCopy(published, join(folder, 'empty'), publishedDatasets, signal)).problems).toHaveLength(3);
});
