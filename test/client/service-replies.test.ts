import { expect, test } from 'vitest';
import { stringifyExactJson } from '../../src/core/exact-json.ts';
import { json, serviceAt, serviceWithin } from './scripted-service.ts';

test('a read that succeeds in the end is the answer, after the wait that was asked for', async () => {
  const { service, sleeps } = await serviceAt(
    { status: 503, headers: { 'retry-after': '7' } },
    { status: 502, type: 'text/html', text: '<h1>Bad gateway</h1>' },
    json('{"id":12}'),
  );
  expect(await service.call('persons.retrieve', { params: { id: 12 } })).toMatchObject({ body: { id: 12 } });
  expect(sleeps).toEqual([7000, 100]);
});

// Some caches write the age of the one before them beside their own, in either order: the oldest counts.
test.each(['3600', '3600, 3600', '0, 3600'])(
  'an answer that a cache made before it was asked for (%s) is no answer, and tells no time',
  async (age) => {
    const headers = { age, date: 'Wed, 31 Dec 2025 23:00:00 GMT' };
    const { service, asked } = await serviceAt({ ...json('{"results":[],"next":null}'), headers });
    await expect(service.call('persons.list')).rejects.toMatchObject({
      code: 'service',
      message: 'a cache before the service gave an answer to GET /persons that is 3,600 seconds old',
      hint: expect.stringContaining('pass the cache by') as string,
    });
    expect(asked).toHaveLength(1);
    expect(service.heard?.()).toBeUndefined();
  },
);

test.each([
  { 'x-cache-status': 'HIT' },
  { 'cache-status': 'shield; fwd=miss, edge; hit' },
  { 'x-cache': 'Hit from cloudfront' },
  { 'x-cache': 'MISS, HIT' },
  { 'x-cache': 'TCP_MEM_HIT' },
  { 'cf-cache-status': 'STALE' },
  { 'cache-status': 'edge; hit' },
  // nginx passes on the Age that it has kept with the answer, and writes none itself.
  { 'x-cache-status': 'HIT', age: '0' },
  { 'x-proxy-cache': 'UPDATING', age: '0' },
])('an answer out of a cache that tells no age is none (%j)', async (headers) => {
  const { service } = await serviceAt({ ...json('{"results":[],"next":null}'), headers });
  const message = 'a cache before the service gave an answer to GET /persons that tells no age';
  await expect(service.call('persons.list')).rejects.toMatchObject({ code: 'service', message });
});

test.each([
  { 'x-cache-status': 'MISS' },
  { 'cache-status': 'edge; fwd=stale; stored' },
  { 'x-cache': 'RefreshHit from cloudfront' },
  { 'x-cache': 'TCP_REFRESH_HIT' },
  { 'cf-cache-status': 'DYNAMIC' },
  { 'cache-status': 'edge; fwd=uri-miss' },
  { 'x-cache': 'HIT', age: '0' },
])('an answer that a cache has asked for is one (%j)', async (headers) => {
  const { service } = await serviceAt({ ...json('{"id":12}'), headers });
  expect(await service.call('persons.retrieve', { params: { id: 12 } })).toMatchObject({ body: { id: 12 } });
});

test('an answer that was under way for as long as its age is one', async () => {
  const { service } = await serviceAt({ ...json('{"id":12}'), headers: { age: '1' } });
  expect(await service.call('persons.retrieve', { params: { id: 12 } })).toMatchObject({ body: { id: 12 } });
});

test('a mark before the JSON of an answer is passed over', async () => {
  const { service } = await serviceAt(json('\uFEFF{"id":12}'));
  expect(await service.call('persons.retrieve', { params: { id: 12 } })).toMatchObject({ body: { id: 12 } });
});

test('numbers are passed on digit for digit, and the service’s own clock with them', async () => {
  const text = '{"count":12345678901234567890,"next":null,"results":[{"score":0.1234567890123456789}]}';
  const date = 'Thu, 01 Jan 2026 00:00:00 GMT';
  const { service } = await serviceAt({ ...json(text), headers: { date } });
  const reply = await service.call('persons.list');
  expect(stringifyExactJson(reply.body)).toBe(text);
  expect(reply.date).toBe(date);
});

test('the documented refusal of a delete is an answer, of another endpoint an error', async () => {
  const { service } = await serviceAt({ status: 405 });
  const params = { short_id: 'abc' };
  expect(await service.call('playlists.delete', { params })).toMatchObject({ status: 405, body: undefined });
  await expect(service.call('playlists.retrieve', { params })).rejects.toMatchObject({ code: 'rejected', status: 405 });
});

test.for([201, 202, 204])('a change that is answered %d is done', async (status) => {
  const { service } = await serviceAt({ status });
  expect(await service.call('persons.delete', { params: { id: 12 } })).toMatchObject({ status, body: undefined });
});

test('a change that is only taken, with 202 and no body, is sent once; 200 without one is no answer', async () => {
  const change = { params: { id: 12 }, body: { properties: {} } };
  const { service, asked } = await serviceAt({ status: 202 });
  expect(await service.call('persons.update', change)).toMatchObject({ status: 202, body: undefined });
  expect(asked).toHaveLength(1);
  const other = await serviceAt({ status: 200 });
  await expect(other.service.call('persons.update', change)).rejects.toMatchObject({ code: 'service', status: 200 });
});

test.for([
  ['a login page', { type: 'text/html; charset=utf-8', text: '<form>' }, 'text/html'],
  ['nothing', {}, 'no body'],
  ['plain text', { type: 'text/plain', text: '[]' }, 'text/plain'],
  ['broken JSON', json('{"results":['), 'text that is cut off, malformed or not UTF-8'],
  ['a JSON text', json('"ok"'), 'text that is cut off, malformed or not UTF-8'],
  [
    'JSON in Latin-1',
    json(Buffer.from('{"results":["Zoë"]}', 'latin1')),
    'text that is cut off, malformed or not UTF-8',
  ],
] as const)('%s where JSON is expected is asked for again, and never an empty list', async ([, answer, found]) => {
  const { service, asked } = await serviceAt(answer);
  await expect(service.call('persons.list')).rejects.toMatchObject({
    code: 'service',
    retryable: true,
    status: 200,
    message: `GET /persons answered 200 with ${found} instead of JSON`,
  });
  expect(asked).toHaveLength(3);
  const healed = await serviceAt(answer, json('{"results":[]}'));
  expect(await healed.service.call('persons.list')).toMatchObject({ body: { results: [] } });
});

test('a login page is not a deletion', async () => {
  const { service } = await serviceAt({ type: 'text/html', text: '<form>' });
  await expect(service.call('persons.delete', { params: { id: 12 } })).rejects.toMatchObject({ code: 'service' });
});

test('CSV is passed on as text', async () => {
  const { service } = await serviceAt({ type: 'text/csv; charset=utf-8', text: 'id\n12\n' });
  expect(await service.call('persons.list', { query: { format: 'csv' } })).toMatchObject({ body: 'id\n12\n' });
});

test('what has no documented body may have one', async () => {
  const { service } = await serviceAt(json('{"results":[]}'));
  expect(await service.call('persons.activity', { params: { id: 12 } })).toMatchObject({ body: { results: [] } });
});

test('a refusal says what the service says of the scope, and is not repeated', async () => {
  const detail = "API key missing required scope 'person:read'";
  const { service, asked } = await serviceAt({ status: 403, ...json(JSON.stringify({ detail })) });
  await expect(service.call('persons.list')).rejects.toMatchObject({
    code: 'refused',
    message: 'the API key may not do this (GET /persons answered 403: person:read)',
  });
  expect(asked).toHaveLength(1);
});

test('after a 429 every request pauses as long as it asks, and it is told of once', async () => {
  const { service, budget, pauses, retried } = await serviceAt(
    { status: 429, headers: { 'retry-after': '7' } },
    json('{"id":12}'),
  );
  const before = Date.UTC(2026, 0, 1);
  const call = service.call('persons.retrieve', { params: { id: 12 } });
  expect(await call).toMatchObject({ body: { id: 12 } });
  expect(pauses).toEqual([7000]);
  expect(retried.map(({ status, retryAfterMs }) => [status, retryAfterMs])).toEqual([[429, 7000]]);
  expect(await budget.forecast([{ lane: 'general', requests: 1 }])).toEqual([before + 7000]);
});

test.for([{}, { 'retry-after': 'soon' }])(
  'a 429 that asks for no pause that can be read (%j) is answered by one of ours',
  async (headers) => {
    const { service, pauses } = await serviceAt({ status: 429, headers }, json('{"id":12}'));
    await service.call('persons.retrieve', { params: { id: 12 } });
    expect(pauses).toEqual([50]);
  },
);

test('a 429 that asks for too long a pause ends the call, and pauses the others as long as is obeyed', async () => {
  const { service, pauses, asked } = await serviceAt({ status: 429, headers: { 'retry-after': '61' } }, json('{}'));
  await expect(service.call('persons.retrieve', { params: { id: 12 } })).rejects.toMatchObject({ status: 429 });
  expect([asked.length, pauses]).toEqual([1, [60_000]]);
});

test('waits that 429s ask for do not count for how long a call is repeated', async () => {
  const long = { status: 429, headers: { 'retry-after': '60' } };
  const { service, sleeps } = await serviceWithin(100_000, long, long, json('{"id":12}'));
  expect(await service.call('persons.retrieve', { params: { id: 12 } })).toMatchObject({ body: { id: 12 } });
  expect(sleeps).toEqual([60_000, 60_000]);
});

test('a change that is throttled pauses the others too, and is not repeated', async () => {
  const { service, pauses, asked } = await serviceAt({ status: 429, headers: { 'retry-after': '5' } });
  await expect(service.call('persons.delete', { params: { id: 12 } })).rejects.toMatchObject({ status: 429 });
  expect(pauses).toEqual([5000]);
  expect(asked).toHaveLength(1);
});

test('what a call is for decides how urgent it is', async () => {
  const { service, turns } = await serviceAt(json('{"results":[]}'));
  await service.call('persons.list', { priority: 'deletion' });
  await service.call('recordings.list', { priority: 'head' });
  expect(turns.map(({ lane, priority }) => [lane, priority])).toEqual([
    ['general', 'deletion'],
    ['recordings list', 'head'],
  ]);
});

const nested = (levels: number) => `{"results":[],"extra":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

test('JSON as deep as allowed is passed on; what is deeper cannot be written again, and the rest can', async () => {
  const allowed = await serviceAt(json(nested(200)));
  const { body } = await allowed.service.call('persons.list');
  expect(JSON.stringify(body)).toBe(nested(200));
  for (const levels of [201, 100_000]) {
    const { service } = await serviceAt(json(nested(levels)));
    const reply = await service.call('persons.list');
    expect(reply).toMatchObject({ status: 200, body: { results: [] } });
    expect(() => JSON.stringify(reply.body)).toThrow('nested deeper than service.jsonDepthMax');
  }
});

test('the deepest refusal is still told by its status', async () => {
  const deep = `{"detail":${'['.repeat(100_000)}1234567890123456789${']'.repeat(100_000)}}`;
  const { service } = await serviceAt({ status: 404, ...json(deep) });
  await expect(service.call('persons.retrieve', { params: { id: 12 } })).rejects.toMatchObject({
    code: 'rejected',
    status: 404,
  });
});
