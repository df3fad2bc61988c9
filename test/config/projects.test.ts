import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { refuseUnsafeTls } from '../../src/config/environment.ts';
import { loadProjects, loadSettings } from '../../src/config/load-settings.ts';
import { AppError } from '../../src/core/errors.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

function file(text: string): string {
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

/** The problems of a configuration file, each without its explanation. */
function problemsOf(yaml: string, environment = {}): string[] {
  try {
    loadProjects(environment, { configFile: file(yaml) });
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'usage') throw error;
    return error.message
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(': ')[0] ?? '');
  }
  return [];
}

test('each project lays what it has of its own over the rest, and has a folder and a key', () => {
  const key = file('phx_shop\n');
  const configFile = file(`
dataDir: /srv/mirror
persons: { pageSize: 500 }
budget: { concurrency: 2 }
projects:
  - name: shop
    apiKeyFile: ${key}
    service: { projectId: 17 }
    schedule: { export: null }
  - { name: blog, dataDir: /srv/blog, service: { projectId: 18 }, persons: { overlap: 9 } }
`);
  const { projects } = loadProjects({ MIRROR_API_KEY: 'phx_all' }, { configFile });
  expect(projects).toMatchObject([
    {
      name: 'shop',
      apiKey: 'phx_shop',
      settings: {
        dataDir: '/srv/mirror/shop',
        service: { projectId: '17', pathPrefix: '/api/environments' },
        persons: { pageSize: 500, overlap: 'auto' },
        schedule: { export: null, full: '0 2 * * *' },
      },
    },
    {
      name: 'blog',
      apiKey: 'phx_all',
      settings: {
        dataDir: '/srv/blog',
        service: { projectId: '18' },
        persons: { pageSize: 500, overlap: 9 },
        schedule: { export: '0 4 * * *' },
        budget: { concurrency: 2 },
      },
    },
  ]);
  expect(loadSettings({}, { configFile, project: 'blog' }).settings.dataDir).toBe('/srv/blog');
  for (const project of [undefined, 'shoe'])
    expect(() => loadSettings({}, { configFile, project })).toThrow(
      expect.objectContaining({ code: 'usage', hint: 'name one with --project: shop, blog' }),
    );
});

test('without a list there is one project', () => {
  expect(loadProjects({}).projects.map(({ name }) => name)).toEqual(['default']);
  expect(loadSettings({}, { project: 'default' }).settings.dataDir).toBe('./data');
});

test('every problem of every project is named by its path, and one that all have once', () => {
  expect(
    problemsOf(`
persons: { pageSize: 0 }
projects:
  - { name: a/b }
  - { name: a, colour: red, log: { level: info }, recordings: { pageSize: many, colour: 1 } }
  - { name: a, schedule: { head: often } }
  - { name: b, dataDir: ./data/a, apiKeyFile: 1 }
  - 7
`).toSorted((a, b) => a.localeCompare(b)),
  ).toEqual([
    'persons.pageSize',
    'projects.0.name',
    'projects.1.colour',
    'projects.1.log',
    'projects.1.recordings.colour',
    'projects.1.recordings.pageSize',
    'projects.2.dataDir',
    'projects.2.name',
    'projects.2.schedule.head',
    'projects.3.apiKeyFile',
    'projects.3.dataDir',
    'projects.4',
  ]);
  expect(problemsOf('projects: { name: a }')).toEqual(['projects']);
});

test('projects do not share a destination: each would remove the files of the other', () => {
  const shared = 'export: { destination: s3://bucket/mirror }';
  expect(problemsOf(`${shared}\nprojects: [{ name: shop }, { name: blog }]`)).toEqual([
    'projects.1.export.destination',
  ]);
  const own = 'export: { destination: s3://bucket/blog }';
  // A slash at the end names the same place.
  const slashed = 'export: { destination: s3://bucket/mirror/ }';
  expect(problemsOf(`${shared}\nprojects: [{ name: shop }, { name: blog, ${slashed} }]`)).toHaveLength(1);
  expect(problemsOf(`${shared}\nprojects: [{ name: shop }, { name: blog, ${own} }]`)).toEqual([]);
});

test('nor the tables of a warehouse, nor a root', () => {
  const projects = (more: string): string => `projects: [{ name: shop }, { name: blog, ${more} }]`;
  const load = 'export: { load: { into: FILE.duckdb, schema: mirror } }';
  expect(problemsOf(`${load}\n${projects('')}`)).toEqual(['projects.1.export.load.into']);
  expect(problemsOf(`${load}\n${projects('export: { load: { schema: blog } }')}`)).toEqual([]);
  expect(problemsOf(`export: { publicRoot: gs://lake }\n${projects('')}`)).toEqual(['projects.1.export.publicRoot']);
});

test.each([
  ['./data', './data/blog'],
  ['./data/blog/shop', './data/blog'],
])('a folder does not lie in another: %s beside %s', (shop, blog) => {
  const yaml = `projects: [{ name: shop, dataDir: ${shop} }, { name: blog, dataDir: ${blog} }]`;
  expect(problemsOf(yaml)).toEqual(['projects.1.dataDir']);
  expect(problemsOf(yaml.replace(blog, './data-of-blog'))).toEqual([]);
});

test('no project of several has the name of the only one, which no command has to be told', () => {
  expect(problemsOf('projects: [{ name: default }]')).toEqual(['projects.0.name']);
});

test('projects with one key have one budget', () => {
  const yaml = 'projects: [{ name: a }, { name: b, budget: { concurrency: 9 } }]';
  expect(problemsOf(yaml, { MIRROR_API_KEY: 'phx_same' })).toEqual(['projects.1.budget']);
  expect(problemsOf(yaml)).toEqual([]);
});

test('secrets come from the environment or a file, and are in no setting', () => {
  const environment = {
    MIRROR_ALERT_WEBHOOK: 'https://hooks.example.com/secret',
    MIRROR_ALERT_ROUTING_KEY_FILE: file('secret-key\n'),
    MIRROR_STATUS_TOKEN_FILE: file('secret-token\n'),
    MIRROR_CLUSTER_DATABASE: 'postgres://mirror:secret@127.0.0.1/mirror',
    MIRROR_CLUSTER_KEY_FILE: file(`${'5e'.repeat(32)}\n`),
  };
  const { projects, secrets } = loadProjects(environment);
  expect(secrets).toEqual({
    alertWebhook: 'https://hooks.example.com/secret',
    alertRoutingKey: 'secret-key',
    clusterDatabase: 'postgres://mirror:secret@127.0.0.1/mirror',
    clusterKey: Buffer.alloc(32, 0x5e),
    signingKeys: [],
    statusToken: 'secret-token',
  });
  expect(JSON.stringify(projects)).not.toContain('secret');
});

test('a storage of a cluster needs a database and a key, and its key is 64 hex digits', () => {
  const storage = 'cluster: { storage: s3://bucket/cluster }';
  expect(problemsOf(storage, {})).toEqual(['cluster.storage', 'cluster.storage']);
  const environment = { MIRROR_CLUSTER_DATABASE: 'postgres://127.0.0.1/mirror', MIRROR_CLUSTER_KEY: 'secret' };
  expect(problemsOf(storage, environment)).toEqual(['MIRROR_CLUSTER_KEY']);
  expect(() => loadProjects(environment)).toThrow(/^(?!.*secret)/s);
});

test.for(['ftp://example.com/secret', 'http://example.com/secret', 'https://u:secret@example.com', 'a secret'])(
  'a webhook must be safe: %s',
  (url) => {
    expect(problemsOf('', { MIRROR_ALERT_WEBHOOK: url })[0]).toBe('MIRROR_ALERT_WEBHOOK');
    expect(() => loadProjects({ MIRROR_ALERT_WEBHOOK: url })).toThrow(/^(?!.*secret)/s);
  },
);

test.for([
  ['postgres://mirror@127.0.0.1/mirror', true],
  ['postgresql://db.example.com/mirror?sslmode=verify-full', true],
  ['postgres://mirror@db.example.com/mirror', false],
  ['postgres://mirror@db.example.com/mirror?sslmode=require', false],
  ['mysql://127.0.0.1/mirror', false],
  ['postgres://mirror:secret@127.0.0.1/mirror', false],
] as const)('the database of a cluster is a safe address without a password: %s %s', ([address, isRight]) => {
  expect(problemsOf(`cluster: { database: '${address}' }`)).toEqual(isRight ? [] : ['cluster.database']);
  const withPassword = address.replace(/mirror@/, 'mirror:secret@');
  const isRightSecret = isRight || address.includes(':secret@');
  expect(problemsOf('', { MIRROR_CLUSTER_DATABASE: withPassword })).toEqual(
    isRightSecret ? [] : ['MIRROR_CLUSTER_DATABASE'],
  );
  expect(() => loadProjects({ MIRROR_CLUSTER_DATABASE: 'mysql://secret' })).toThrow(/^(?!.*secret)/s);
});

test('the check of certificates cannot be turned off', () => {
  expect(() => refuseUnsafeTls({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toThrow(
    expect.objectContaining({ code: 'usage' }),
  );
  expect(() => refuseUnsafeTls({ NODE_TLS_REJECT_UNAUTHORIZED: '1' })).not.toThrow();
});
