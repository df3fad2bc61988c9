import { expect, test } from 'vitest';
import { loadSettings } from '../../src/config/load-settings.ts';

const accepts = (path: string, value: unknown) => () => loadSettings({}, { set: [{ path, value }] });

test.for([
  'https://analytics.example.com',
  'https://analytics.example.com:8443/',
  'http://localhost:8000',
  'http://127.0.0.1:8000',
  'http://127.1.2.3',
  'http://[::1]:8000',
])('the address %s is taken', (url) => {
  expect(accepts('service.baseUrl', url)().settings.service.baseUrl).toBe(url);
});

test.for([
  ['analytics.example.com', 'is not a URL'],
  ['', 'is not a URL'],
  ['http://analytics.example.com', 'must begin with https://'],
  ['http://127.0.0.1.example.com', 'must begin with https://'],
  ['http://localhost.example.com', 'must begin with https://'],
  ['http://10.0.0.1', 'must begin with https://'],
  ['ftp://127.0.0.1', 'must begin with https://'],
  ['file:///etc/passwd', 'must begin with https://'],
  ['https://user:password@analytics.example.com', 'must not hold a user name or password'],
  ['https://user@analytics.example.com', 'must not hold a user name or password'],
  ['https://analytics.example.com/api', 'must end after the host and port'],
  ['https://analytics.example.com/?a=1', 'must end after the host and port'],
  ['https://analytics.example.com/#a', 'must end after the host and port'],
  ['https://analytics.example.com\n', 'must be one line'],
  ['https://analytics.\u00adexample.com', 'must be one line'],
  [`https://${'a.'.repeat(100)}example.com`, 'must be one line of at most 200 characters'],
] as const)('the address %j is refused: %s', ([url, message]) => {
  expect(accepts('service.baseUrl', url)).toThrow(`service.baseUrl: ${message}`);
});

test.for([
  ['service.projectId', 42, '42'],
  ['service.projectId', 'main_project-1', 'main_project-1'],
  ['playlists.shortIds', [7, 'abc'], ['7', 'abc']],
  ['service.pathPrefix', '/api/projects', '/api/projects'],
  ['persons.overlap', 0, 0],
] as const)('%s may be %j', ([path, value, read]) => {
  const { settings } = accepts(path, value)();
  const [group = '', name = ''] = path.split('.');
  expect(Reflect.get(Reflect.get(settings, group) as object, name)).toEqual(read);
});

test.for([
  ['persons', 1000, 500, null],
  ['persons', 1000, 501, 'persons.overlap: pages of 1000 rows cannot share 501'],
  ['recordings', 40, 40, 'recordings.overlap: pages of 40 rows cannot share 40'],
  ['persons', 10, 'auto', null],
  ['persons', 9, 'auto', 'persons.pageSize: pages of 9 rows cannot share 5'],
] as const)('%s in pages of %i that share %j: refused as %j', ([name, pageSize, overlap, message]) => {
  const set = [
    { path: `${name}.pageSize`, value: pageSize },
    { path: `${name}.overlap`, value: overlap },
  ];
  const load = () => loadSettings({}, { set });
  if (message === null) expect(load).not.toThrow();
  else expect(load).toThrow(message);
});

const minute = { requests: 240, perSeconds: 60 };
const hour = { requests: 1200, perSeconds: 3600 };
test.for([
  [[minute, hour], { requests: 14_400, perSeconds: 3600 }, null],
  [[minute, hour], null, null],
  [[], { requests: 14_400, perSeconds: 3600 }, null],
  [[minute], { requests: 14_400, perSeconds: 3600 }, 'budget.windows has no window of 3600 s'],
  [[minute, hour], { requests: 600, perSeconds: 3600 }, 'holds fewer requests than the window of 3600 s'],
] as const)('of the windows %j may be learnt up to %j: refused as %j', ([windows, learnUpTo, message]) => {
  const set = [
    { path: 'budget.windows', value: windows },
    { path: 'budget.learnUpTo', value: learnUpTo },
  ];
  const load = () => loadSettings({}, { set });
  if (message === null) expect(load().settings.budget.learnUpTo).toEqual(learnUpTo);
  else expect(load).toThrow(message);
});

test.for([
  ['dataDir', '/srv/mirror\n'],
  ['service.projectId', '1/../2'],
  ['service.projectId', ''],
  ['service.pathPrefix', 'api'],
  ['service.pathPrefix', '/api/'],
  ['service.pathPrefix', '/api?x=1'],
  ['service.totalTimeoutMs', 0],
  ['service.totalTimeoutMs', 2 ** 31],
  ['service.bodyBytesMax', 1.5],
  ['retry.attemptsMax', 0],
  ['budget.concurrency', 65],
  ['budget.windows', [{ requests: 1, perSeconds: 0 }]],
  ['budget.windows', [{ requests: 1, perSeconds: 2_147_484 }]],
  ['budget.windows', 240],
  ['persons.pageSize', 10_001],
  ['persons.overlap', 'some'],
  ['recordings.query', { date_from: ['-30d'] }],
  ['playlists.shortIds', ['']],
  ['export.keep', 0],
  // The times that these would lead to have years of more than four digits.
  ['erasure.dueDays', 9_999_999],
  ['erasure.maxRequestDays', 9_999_999],
  ['erasure.feedRetentionDays', 999_999],
  ['audit.backupDays', 9_999_999],
  ['recordings.retentionDays', 999_999_999],
  ['deletions.confirmAfterSeconds', 1e13],
  ['deletions.collectHours', 1e9],
  ['log.level', 'loud'],
] as const)('%s may not be %j', ([path, value]) => {
  expect(accepts(path, value)).toThrow(expect.objectContaining({ code: 'usage' }));
});
