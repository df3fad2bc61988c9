import { expect, test } from 'vitest';
import { settingsWith } from '../config/settings-with.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { ledgerOrigin } from '../../src/ledger/checkpoint.ts';
import { checkBucket } from '../../src/status/bucket-check.ts';
import { folderWith, follow, freshModel, modelBucket } from '../bucket/follow-world.ts';
import type { S3Model } from '../bucket/s3-model.ts';
import { tickingClock } from '../ledger/ledger-fixture.ts';

/** A bucket that has followed a folder, and what the doctor says of it. */
async function openScene(): Promise<{ model: S3Model; check: () => ReturnType<typeof checkBucket> }> {
  const model = await freshModel();
  const dataDir = await folderWith('a', 'b');
  const ledger = openLedger(dataDir, tickingClock());
  ledger.append([{ type: 'key_bound', key: 'fence', check: 'a'.repeat(32) }]);
  await follow(dataDir, await modelBucket(model), ledgerOrigin(dataDir, ledger));
  const settings = settingsWith({ dataDir });
  const destination = { location: 's3://bucket/mirror', endpoint: model.endpoint, region: null, forcePathStyle: true };
  return { model, check: () => checkBucket(destination, settings, new AbortController().signal) };
}

const versionsOf = (model: S3Model): string => JSON.stringify([...model.versions]);

test('a bucket that is equal is well, and stays as it is', async () => {
  const { model, check } = await openScene();
  const before = versionsOf(model);
  expect(await check()).toMatch(
    /^s3:\/\/bucket\/mirror is equal to the published files: \d+ files, versions can be listed and deleted, conditions are kept$/,
  );
  expect(versionsOf(model)).toBe(before);
});

test('what differs is named, and so are objects of others', async () => {
  const { model, check } = await openScene();
  model.versions.delete('mirror/CURRENT.json');
  model.put('mirror/persons/20200101T000000.000Z/part-00001.parquet', 'stray');
  model.put('mirror/notes.txt', 'of others');
  model.uploads.push({ key: 'mirror/CURRENT.json', id: 'left' });
  expect(await check()).toMatchObject({
    state: 'warning',
    detail: expect.stringMatching(
      /1 missing \(CURRENT\.json\), 1 old or stray \(persons\/.*\), 1 unfinished upload;/,
    ) as string,
    fix: expect.stringContaining('reconcile') as string,
  });
});

test('a store that takes what it was asked not to take is named', async () => {
  const { model, check } = await openScene();
  model.vices = { ignoresConditions: true };
  await expect(check()).rejects.toMatchObject({
    message: expect.stringContaining('takes a file over one that is there') as string,
    hint: expect.stringContaining('If-None-Match') as string,
  });
});

test.each([
  ['versions may not be listed', 'GET /bucket', 's3:ListBucketVersions'],
  ['versions may not be deleted', 'DELETE', 's3:DeleteObjectVersion'],
])('it fails where %s', async (_what, begin, right) => {
  const { model, check } = await openScene();
  model.fault = (_index, asked) => (asked.startsWith(begin) ? [403, 'AccessDenied'] : undefined);
  await expect(check()).rejects.toMatchObject({
    code: 'refused',
    hint: expect.stringContaining(`allow ${right}`) as string,
  });
});
