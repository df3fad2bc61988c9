import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { settingsWith } from '../config/settings-with.ts';
import { publishedDatasets } from '../../src/contract/datasets.ts';
import { nobody } from '../../src/contract/identity.ts';
import type { PublishedFiles } from '../../src/snapshot/published-files.ts';
import { rewriteSnapshot } from '../../src/snapshot/rewrite.ts';
import { openCopySource } from '../../src/status/copy-source.ts';
import { verifyCopy } from '../../src/status/verify-copy.ts';
import { freshModel, setCredentials } from '../bucket/follow-world.ts';
import { localServer, type Answerer } from '../client/local-server.ts';
import { exportCount } from '../export/export-fixture.ts';
import { openCopy, signal } from './copy-fixture.ts';

/** A copy on a web server below /lake/, which answers 404 for what is not there. */
async function webCopy(answer: (path: string) => Buffer | number) {
  const asked: string[] = [];
  const serve: Answerer = (request, response) => {
    const path = (request.url ?? '').slice('/lake/'.length);
    asked.push(path);
    const found = answer(path);
    if (typeof found === 'number') response.writeHead(found, { location: '/elsewhere' }).end();
    else response.end(found);
  };
  const { origin } = await localServer(serve);
  return { asked, address: `${origin}/lake` };
}

/** The defaults, but what fails is tried again at once. */
function testSettings(endpoint: string | null = null) {
  const settings = settingsWith({});
  return {
    ...settings,
    retry: { ...settings.retry, attemptsMax: 2, delayBaseMs: 1, delayMaxMs: 1 },
    export: { ...settings.export, s3: { endpoint, region: null, forcePathStyle: true } },
  };
}

async function verifyAt(
  place: string,
  { published, gone = [] }: { published: PublishedFiles; gone?: string[] },
  settings = testSettings(),
) {
  await using source = await openCopySource(place, settings, signal);
  return await verifyCopy({ published, datasets: publishedDatasets, gone: () => gone }, source, signal);
}

test('on a web server, what is missing, changed, longer, replaced by an erasure or retired is named', async () => {
  const { copy, folder, path, place, published, dataDir, snapshotId } = await openCopy();
  copy();
  const root = join(folder, 'lake', 'mirror');
  const { address } = await webCopy((at) => (existsSync(join(root, at)) ? readFileSync(join(root, at)) : 404));
  expect(await verifyAt(address, { published })).toMatchObject({ isListed: false, problems: [] });
  const subject = { ...nobody, distinct_id: ['d00000000'] };
  await rewriteSnapshot(published, 'distinct_ids', snapshotId, ['part-00001.parquet'], [subject], { epoch: 4, signal });
  writeFileSync(path('part-00002.parquet'), 'other');
  appendFileSync(path('part-00003.parquet'), Buffer.alloc(5_000_000));
  const { problems, bytes } = await verifyAt(address, { published });
  expect(problems.filter(({ file }) => file.endsWith('.parquet'))).toEqual([
    { file: place('part-00001.parquet'), problem: 'replaced' },
    { file: place('part-00002.parquet'), problem: 'differs' },
    { file: place('part-00003.parquet'), problem: 'differs' },
    { file: place('part-00004.parquet'), problem: 'missing' },
  ]);
  expect(problems).toContainEqual({ file: place('manifest.json'), problem: 'differs' });
  expect(bytes).toBeLessThan(1_000_000);
  await exportCount(dataDir, 3, 1);
  const retired = (await verifyAt(address, { published, gone: [`distinct_ids/${snapshotId}`] })).problems;
  expect(retired).toContainEqual({ file: place('part-00001.parquet'), problem: 'retired' });
});

test('a web server that refuses, redirects, answers for everything or is not there ends the check in a sentence', async () => {
  const { published } = await openCopy();
  const answers: [Buffer | number, object][] = [
    [403, { code: 'refused', status: 403 }],
    [302, { code: 'service', status: 302 }],
    [500, { code: 'service', status: 500 }],
    [Buffer.from('<!doctype html>'), { code: 'service', hint: expect.stringContaining('404') as string }],
  ];
  for (const [answer, error] of answers) {
    const { address, asked } = await webCopy(() => answer);
    await expect(verifyAt(address, { published })).rejects.toMatchObject(error);
    expect(new Set(asked)).toEqual(new Set(['persons/00000000T000000.000Z/part-00000.parquet']));
  }
  await expect(verifyAt('http://127.0.0.1:1/lake', { published })).rejects.toMatchObject({ code: 'unreachable' });
});

test('in a bucket, older versions with other bytes count too, and the same bytes put twice do not', async () => {
  const { copy, path, place, published } = await openCopy();
  copy();
  setCredentials();
  const model = await freshModel();
  const put = () => {
    for (const { path: name, from } of published.listPaths()) model.put(`team/lake/${name}`, readFileSync(from));
  };
  put();
  put();
  const settings = testSettings(model.endpoint);
  expect((await verifyAt('s3://bucket/team', { published }, settings)).problems).toEqual([]);
  model.put(`team/lake/${place('part-00001.parquet')}`, readFileSync(path('part-00002.parquet')));
  model.put(`team/lake/${place('part-00001.parquet')}`, readFileSync(path('part-00001.parquet')));
  model.put(`team/lake/${place('part-00009.parquet')}`, 'stray');
  model.versions.delete(`team/lake/${place('part-00003.parquet')}`);
  expect((await verifyAt('s3://bucket/team', { published }, settings)).problems).toEqual([
    { file: `lake/${place('part-00009.parquet')}`, problem: 'replaced' },
    { file: `lake/${place('part-00001.parquet')}`, problem: 'older' },
    { file: place('part-00003.parquet'), problem: 'missing' },
  ]);
});
