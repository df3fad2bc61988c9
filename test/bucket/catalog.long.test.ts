import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { BucketReport } from '../../src/bucket/keep.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import { checkBuckets } from '../../src/status/bucket-check.ts';
import type { Attempt } from '../../src/status/check.ts';
import { startCatalog } from './catalog-model.ts';
import { folderWith, publishDistinct } from './follow-world.ts';
import { published, tell } from './tell-catalog.ts';

const followed: BucketReport = {
  destination: 's3://bucket/mirror',
  followed: { files: 0, put: 0, removed: 0, aborted: 0, foreign: [], locked: [] },
  error: null,
};

/** A catalog, and a folder with a published table that it does not know. */
async function openScene(options: Parameters<typeof startCatalog>[0] = {}) {
  return { catalog: await startCatalog(options), dataDir: await folderWith('a') };
}

test.each([{ knowsOverwrite: true }, { knowsOverwrite: false, prefix: 'main' }])(
  'a catalog leads to the table that is published, after each publication: %o',
  async (kind) => {
    const { catalog, dataDir } = await openScene(kind);
    for (const ids of [['a'], ['a', 'c']]) {
      await publishDistinct(dataDir, ids);
      expect(await tell(dataDir, catalog)).toEqual({ uri: catalog.uri, told: ['distinct_ids'], error: null });
      expect(catalog.tables.get('distinct_ids')?.['metadata-location']).toBe(published(dataDir));
    }
    catalog.asked.length = 0;
    expect(await tell(dataDir, catalog)).toMatchObject({ told: [], error: null });
    expect(catalog.asked.filter((asked) => !asked.startsWith('GET'))).toEqual([]);
    expect([...catalog.namespaces]).toEqual(['analytics']);
  },
);

test('a namespace of two names, a warehouse and a token are sent as the specification says', async () => {
  const { catalog, dataDir } = await openScene();
  const tokenFile = join(dataDir, 'token');
  writeFileSync(tokenFile, 'token-of-test\n', { mode: 0o600 });
  const set = {
    'export.catalog.namespace': 'lake.people',
    'export.catalog.warehouse': 'a b',
    'export.catalog.tokenFile': tokenFile,
  };
  expect(await tell(dataDir, catalog, set)).toMatchObject({ told: ['distinct_ids'], error: null });
  expect(catalog.asked).toContain('GET /iceberg/v1/config?warehouse=a%20b');
  expect(catalog.asked).toContain('POST /iceberg/v1/namespaces/lake%1Fpeople/register');
  expect([...catalog.tokens]).toEqual(['Bearer token-of-test']);
  chmodSync(tokenFile, 0o666);
  const open = await tell(dataDir, catalog, set);
  expect(open).toMatchObject({ told: [], error: { code: 'usage' } });
});

test('a table of another folder is left as it is', async () => {
  const catalog = await startCatalog();
  const [first, second] = [await folderWith('a'), await folderWith('b')];
  await tell(first, catalog);
  catalog.uuidOf = () => '00000000-0000-4000-8000-000000000002';
  const report = await tell(second, catalog);
  expect(report).toMatchObject({ told: [], error: { code: 'refused', hint: expect.stringContaining('namespace') } });
  expect(catalog.tables.get('distinct_ids')?.['metadata-location']).toBe(published(first));
});

test('what another program has committed through the catalog is replaced by what is published', async () => {
  const { catalog, dataDir } = await openScene();
  await tell(dataDir, catalog);
  const entry = catalog.tables.get('distinct_ids');
  if (entry) entry['metadata-location'] = `${entry.metadata.location}/metadata/00007-of-another.metadata.json`;
  expect(await tell(dataDir, catalog)).toMatchObject({ told: ['distinct_ids'] });
  expect(catalog.tables.get('distinct_ids')?.['metadata-location']).toBe(published(dataDir));
});

test('an entry whose metadata an erasure has removed is replaced, and one that leads elsewhere is left', async () => {
  const { catalog, dataDir } = await openScene({ knowsOverwrite: false });
  await tell(dataDir, catalog);
  const before = published(dataDir);
  await publishDistinct(dataDir, ['b']);
  // As Iceberg's own catalog says it, which reads the metadata for each answer.
  const missing = (location: string) => (asked: string) =>
    /GET .*\/tables\/|\/register$/.test(asked) && catalog.tables.get('distinct_ids')?.['metadata-location'] === before
      ? `Location does not exist: ${location}`
      : undefined;
  catalog.fault = missing('s3://of/another/metadata/v1.metadata.json');
  expect(await tell(dataDir, catalog)).toMatchObject({ told: [], error: { code: 'service' } });
  expect(catalog.tables.get('distinct_ids')?.['metadata-location']).toBe(before);
  catalog.fault = missing(before);
  expect(await tell(dataDir, catalog)).toMatchObject({ told: ['distinct_ids'], error: null });
  expect(catalog.tables.get('distinct_ids')?.['metadata-location']).toBe(published(dataDir));
});

test('a catalog is not told of files that the bucket does not have yet', async () => {
  const { catalog, dataDir } = await openScene();
  const set = { 'export.destination': 's3://bucket/mirror' };
  for (const bucket of [null, { ...followed, followed: null }])
    expect(await tell(dataDir, catalog, set, bucket)).toBeNull();
  expect(catalog.asked).toEqual([]);
  expect(await tell(dataDir, catalog, set, followed)).toMatchObject({ told: ['distinct_ids'] });
});

test.each([
  ['cut', 'unreachable', 'does not answer'],
  [401, 'refused', 'answers GET with 401'],
  [500, 'service', 'answers GET with 500'],
] as const)('a catalog that fails is reported, and told the next time: %s', async (fault, code, says) => {
  const { catalog, dataDir } = await openScene();
  catalog.fault = (asked) => (asked.includes('/tables/') ? fault : undefined);
  const report = await tell(dataDir, catalog);
  expect(report).toMatchObject({ told: [], error: { code, message: `the catalog at ${catalog.uri} ${says}` } });
  expect(JSON.stringify(report)).not.toContain('secret words');
  catalog.fault = () => undefined;
  expect(await tell(dataDir, catalog)).toMatchObject({ told: ['distinct_ids'], error: null });
});

test('a failure at any request, as a kill is, leaves nothing that the next run does not mend', async () => {
  for (let at = 0; ; at += 1) {
    const { catalog, dataDir } = await openScene({ knowsOverwrite: false });
    await tell(dataDir, catalog);
    await publishDistinct(dataDir, ['b']);
    catalog.asked.length = 0;
    catalog.fault = () => (catalog.asked.length > at ? 'cut' : undefined);
    const report = await tell(dataDir, catalog);
    catalog.fault = () => undefined;
    await tell(dataDir, catalog);
    expect(catalog.tables.get('distinct_ids')?.['metadata-location']).toBe(published(dataDir));
    if (report?.error === null) break;
  }
});

test('doctor tells of a catalog that leads to older tables, and changes nothing there', async () => {
  const { catalog, dataDir } = await openScene();
  const { settings } = loadSettings(
    {},
    {
      set: [
        { path: 'dataDir', value: dataDir },
        { path: 'export.catalog.uri', value: catalog.uri },
      ],
    },
  );
  const check = async () => {
    const attempt: Attempt = async (name, run) => {
      const found = await run();
      return { check: name, ...(typeof found === 'string' ? { state: 'ok', detail: found } : found) };
    };
    return (await checkBuckets(attempt, settings, null, new AbortController().signal))[0];
  };
  expect(await check()).toMatchObject({
    check: 'catalog',
    state: 'warning',
    detail: expect.stringContaining('none: distinct_ids'),
  });
  expect([catalog.tables.size, catalog.asked.filter((asked) => !asked.startsWith('GET'))]).toEqual([0, []]);
  await tell(dataDir, catalog);
  expect(await check()).toMatchObject({ check: 'catalog', state: 'ok' });
});

test('what is no catalog is named so', async () => {
  const catalog = await startCatalog();
  catalog.fault = (asked) => (asked.includes('config') ? 404 : undefined);
  const report = await tell(await folderWith('a'), catalog);
  // 404 is an answer, and this one has no form of a configuration.
  expect(report).toMatchObject({ told: [], error: { message: expect.stringContaining('gives no configuration') } });
});
