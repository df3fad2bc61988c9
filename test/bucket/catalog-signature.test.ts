import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { tell, published } from './tell-catalog.ts';
import { startCatalog } from './catalog-model.ts';
import { folderWith } from './follow-world.ts';
import { problemOfSignature, signatureOf } from './verify-signature.ts';

const by = {
  id: 'AKIDEXAMPLE',
  secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  region: 'eu-west-1',
  service: 'glue',
};
const sigv4 = { 'export.catalog.sigv4': 'glue', 'export.s3.region': 'eu-west-1' };

beforeEach(() => {
  for (const name of Object.keys(process.env).filter((each) => each.startsWith('AWS_'))) vi.stubEnv(name, undefined);
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  vi.stubEnv('AWS_CONFIG_FILE', '/nowhere');
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere');
  vi.stubEnv('AWS_ACCESS_KEY_ID', by.id);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', by.secret);
});
afterEach(() => vi.unstubAllEnvs());

// `get-vanilla` of the test suite that Amazon has published.
test('the judge of signatures agrees with a vector of Amazon', () => {
  const headers = { host: 'example.amazonaws.com', 'x-amz-date': '20150830T123600Z' };
  const signature = signatureOf({ method: 'GET', url: '/', headers }, '', ['host', 'x-amz-date'], {
    ...by,
    region: 'us-east-1',
    service: 'service',
  });
  expect(signature).toBe('5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31');
});

test.each([undefined, 'session/of+test=='])('each request to the catalog is signed: session %s', async (session) => {
  vi.stubEnv('AWS_SESSION_TOKEN', session);
  const catalog = await startCatalog({ prefix: 'catalogs:1', knowsOverwrite: false });
  const problems: (string | undefined)[] = [];
  catalog.judgeSignature = (request, body) => {
    expect(request.headers['x-amz-security-token']).toBe(session);
    const problem = problemOfSignature(request, body, by);
    problems.push(problem);
    return problem === undefined;
  };
  const dataDir = await folderWith('a');
  // Names that are escaped once in the path, and twice where it is signed.
  const set = { ...sigv4, 'export.catalog.namespace': 'lake.people', 'export.catalog.warehouse': "12 3:a/b+c(ü)'*~" };
  expect(await tell(dataDir, catalog, set)).toEqual({ uri: catalog.uri, told: ['distinct_ids'], error: null });
  expect(catalog.tables.get('distinct_ids')?.['metadata-location']).toBe(published(dataDir));
  expect(problems.length).toBeGreaterThan(4);
  expect(new Set(problems)).toEqual(new Set([undefined]));
});

test.each([
  [{ AWS_SECRET_ACCESS_KEY: 'of-another' }, {}, 'refused', 'answers GET with 403'],
  [{}, { 'export.catalog.sigv4': 's3tables' }, 'refused', 'answers GET with 403'],
  [{}, { 'export.s3.region': 'eu-west-2' }, 'refused', 'answers GET with 403'],
  [{ AWS_ACCESS_KEY_ID: undefined }, {}, 'usage', 'there are no credentials for'],
] as const)('a catalog that does not take the signature is reported: %o %o', async (env, set, code, says) => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const catalog = await startCatalog();
  catalog.judgeSignature = (request, body) => problemOfSignature(request, body, by) === undefined;
  const report = await tell(await folderWith('a'), catalog, { ...sigv4, ...set });
  expect(report).toMatchObject({ told: [], error: { code } });
  expect(report?.error?.message).toContain(says);
  expect(JSON.stringify(report)).not.toContain(by.secret);
});

test('without a region nothing is signed, and the error says where it is set', async () => {
  const catalog = await startCatalog();
  const report = await tell(await folderWith('a'), catalog, { 'export.catalog.sigv4': 'glue' });
  expect(report).toMatchObject({ told: [], error: { code: 'usage', hint: 'set export.s3.region, or AWS_REGION' } });
  expect(catalog.asked).toEqual([]);
});
