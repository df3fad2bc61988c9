import { expect, test } from 'vitest';
import type { CallArguments, Service } from '../../src/client/service.ts';
import { AppError } from '../../src/core/errors.ts';
import { endpointNames, endpoints, type EndpointName } from '../../src/contract/endpoints.ts';
import { json, serviceAt, serviceBelow } from './scripted-service.ts';

/** Arguments for each endpoint, and the request that they make. */
const requests: { [N in EndpointName]: { args: CallArguments<N>; line: string; body?: string } } = {
  'insights.trend': {
    args: { query: { format: 'json' }, body: { name: 'Trend' } },
    line: 'POST /insights/trend/?format=json',
    body: '{"name":"Trend"}',
  },
  'persons.list': {
    args: { query: { limit: 10, offset: 0, email: 'a+b@example.com', properties: [{ key: 'plan' }] } },
    line: 'GET /persons/?limit=10&offset=0&email=a%2Bb%40example.com&properties=%5B%7B%22key%22%3A%22plan%22%7D%5D',
  },
  'persons.retrieve': { args: { params: { id: 12 } }, line: 'GET /persons/12/' },
  'persons.update': {
    args: { params: { id: 12 }, body: { properties: { plan: 'pro' } } },
    line: 'PATCH /persons/12/',
    body: '{"properties":{"plan":"pro"}}',
  },
  'persons.delete': {
    args: { params: { id: 12 }, query: { delete_events: true } },
    line: 'DELETE /persons/12/?delete_events=true',
  },
  'persons.activity': { args: { params: { id: 12 } }, line: 'GET /persons/12/activity/' },
  'persons.delete_property': {
    args: { params: { id: 12 }, query: { $unset: 'plan & more' }, body: {} },
    line: 'POST /persons/12/delete_property/?%24unset=plan+%26+more',
    body: '{}',
  },
  'persons.properties_timeline': { args: { params: { id: 12 } }, line: 'GET /persons/12/properties_timeline/' },
  'persons.split': { args: { params: { id: 12 } }, line: 'POST /persons/12/split/' },
  'playlists.retrieve': {
    args: { params: { short_id: 'a/b ü?' } },
    line: 'GET /session_recording_playlists/a%2Fb%20%C3%BC%3F/',
  },
  'playlists.update': {
    args: { params: { short_id: 'abc' }, body: { deleted: true } },
    line: 'PATCH /session_recording_playlists/abc/',
    body: '{"deleted":true}',
  },
  'playlists.delete': { args: { params: { short_id: 'abc' } }, line: 'DELETE /session_recording_playlists/abc/' },
  'playlists.recordings': {
    args: { params: { short_id: 'abc' } },
    line: 'GET /session_recording_playlists/abc/recordings/',
  },
  'playlists.add_recording': {
    args: { params: { short_id: 'abc', session_recording_id: '../x' } },
    line: 'POST /session_recording_playlists/abc/recordings/..%2Fx/',
  },
  'playlists.remove_recording': {
    args: { params: { short_id: 'abc', session_recording_id: 'r1' } },
    line: 'DELETE /session_recording_playlists/abc/recordings/r1/',
  },
  'recordings.list': {
    args: { query: { limit: 5, offset: 10 }, extraQuery: { date_from: '-30d', limit: 99 } },
    line: 'GET /session_recordings/?date_from=-30d&limit=5&offset=10',
  },
  'recordings.retrieve': { args: { params: { id: 'r1' } }, line: 'GET /session_recordings/r1/' },
};

const call = (service: Service, name: EndpointName) => service.call(name, requests[name].args);

test.for(endpointNames)('%s is asked for as its row says', async (name) => {
  const { service, asked, turns } = await serviceAt({ status: endpoints[name].status, ...json('{}') });
  const { line, body } = requests[name];
  const [method, path] = line.split(' ');
  expect(await call(service, name)).toMatchObject({ status: endpoints[name].status });
  expect(asked).toEqual([
    {
      line: `${method} /api/environments/1${path}`,
      contentType: body === undefined ? undefined : 'application/json',
      body: body ?? '',
    },
  ]);
  expect(turns).toEqual([
    { lane: name === 'recordings.list' ? 'recordings list' : 'general', priority: 'full', signal: undefined },
  ]);
});

test.for(endpointNames)('%s is repeated only if it reads', async (name) => {
  const { service, asked, retried, sleeps } = await serviceAt({ status: 503 });
  await expect(call(service, name)).rejects.toMatchObject({ code: 'service', status: 503, retryable: true });
  const attempts = endpoints[name].method === 'GET' ? 3 : 1;
  expect(asked).toHaveLength(attempts);
  expect(service.requestCount()).toBe(attempts);
  expect(retried).toHaveLength(attempts - 1);
  expect(sleeps).toEqual([50, 100].slice(0, attempts - 1));
});

test('a flag that is false is not sent: live services take its presence for true', async () => {
  const { service, asked } = await serviceAt({ status: 204 }, json('{}'));
  await service.call('persons.delete', { params: { id: 12 }, query: { delete_events: false } });
  await service.call('recordings.list', { extraQuery: { filter_test_accounts: false } });
  expect(asked.map(({ line }) => line)).toEqual([
    'DELETE /api/environments/1/persons/12/',
    'GET /api/environments/1/session_recordings/?filter_test_accounts=false',
  ]);
});

test.for([
  ['/api/environments/1', '/api/projects/'],
  ['/api/projects/a%2Fb', '/api/projects/'],
  ['/proxy/api/environments/1', '/proxy/api/projects/'],
  ['/environments/1', '/projects/'],
  ['/api/environments/', '/api/projects/'],
] as const)('below %s, projects are listed at %s', async ([projectPath, path]) => {
  const { service, asked } = await serviceBelow(projectPath, json('{"results":[]}'));
  expect(await service.call('projects.list')).toMatchObject({ status: 200, body: { results: [] } });
  expect(asked.map(({ line }) => line)).toEqual([`GET ${path}`]);
});

test('without a project nothing but projects is asked for', async () => {
  const { service, asked } = await serviceBelow('/api/environments/', json('{"results":[]}'));
  await expect(service.call('persons.list')).rejects.toMatchObject({
    code: 'usage',
    message: 'not configured: the project (service.projectId, MIRROR_PROJECT_ID)',
  });
  expect(asked).toEqual([]);
});

test('projects that are not listed say nothing about the configured one', async () => {
  const { service } = await serviceAt({ status: 404 });
  await expect(service.call('projects.list')).rejects.toMatchObject({ code: 'rejected', status: 404 });
});

test.for([{}, { id: '' }, { id: '.' }, { id: '..' }, { id: 'a\uD800' }])(
  'the path parameters %j would lead elsewhere, and are refused before anything is sent',
  async (params) => {
    const { service, asked } = await serviceAt(json('{}'));
    await expect(service.call('recordings.retrieve', { params: params as { id: string } })).rejects.toMatchObject({
      code: 'usage',
      message: 'GET /session_recordings/:id needs a path parameter id that can stand in a path',
    });
    expect(asked).toEqual([]);
  },
);

test('an aborted call ends with its reason before anything is sent', async () => {
  const stop = new AbortController();
  const reason = new AppError('interrupted', { code: 'interrupted' });
  const { service, asked } = await serviceAt({ status: 503 });
  stop.abort(reason);
  await expect(service.call('persons.list', { signal: stop.signal })).rejects.toBe(reason);
  expect(asked).toEqual([]);
});
