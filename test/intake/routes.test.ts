import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { callIntake, deskKey, digestOf, eraseBody, openIntakeWorld, senderOf } from './intake-world.ts';

const ann = 'ann@canary.example';
const text = JSON.stringify(eraseBody(ann));

it.for([
  ['a name that stands twice', text.replace('{', '{"type":"erase",'), 400, 'not_json'],
  ['a name that stands twice inside', text.replace('"kind"', '"kind":"uuid","kind"'), 400, 'not_json'],
  ['a name that is spelled twice', text.replace('{', String.raw`{"typ\u0065":"erase",`), 400, 'not_json'],
  ['a blank at the edge of an address', text.replace(ann, ` ${ann}`), 400, 'not_a_request'],
  ['half of a surrogate', text.replace('ann', String.raw`\ud800`), 400, 'not_json'],
  ['a null byte', text.replace('ann', String.raw`a\u0000`), 400, 'not_json'],
  ['a byte order mark', `\ufeff${text}`, 400, 'not_json'],
  ['no JSON', 'type=erase', 400, 'not_json'],
  ['nothing', '', 400, 'not_json'],
  ['deep JSON', '['.repeat(30_000), 400, 'not_json'],
  ['deep JSON that ends', `${'['.repeat(30_000)}${']'.repeat(30_000)}`, 400, undefined],
  ['a prototype', text.replace('{', '{"__proto__":{},'), 400, undefined],
  ['another field', text.replace('{', '{"approve":true,'), 400, 'not_a_request'],
  ['a request for access', text.replace('erase', 'access'), 201, undefined],
  ['an access that is to keep events', text.replace('"erase"', '"access","keep_events":true'), 400, 'not_a_request'],
  ['a basis of the program', text.replace('{', '{"basis":"deleted_upstream",'), 400, 'not_a_request'],
  ['a name as a reference', text.replace('{', '{"reference":"Ann Lee",'), 400, 'not_a_request'],
  ['no address', text.replace(ann, 'ann'), 400, 'not_a_request'],
  [
    'a blank at the edge of a distinct id',
    text.replace('email', 'distinct_id').replace(ann, 'ann '),
    400,
    'not_a_request',
  ],
  ['a kind that the sender may not name', text.replace('email', 'id').replace(ann, '17'), 403, 'kind_not_allowed'],
  ['a long text', text.replace(ann, `${'a'.repeat(2_000)}@x.example`), 400, 'not_a_request'],
  ['a large body', `${text}${' '.repeat(66_000)}`, 413, 'too_large'],
] as const)('%s is answered', async ([, body, status, title]) => {
  const world = await openIntakeWorld();
  const answered = await world.post(body);
  expect(answered.status).toBe(status);
  if (title !== undefined) expect(answered.body['title']).toBe(title);
  if (status !== 201) expect(answered.headers.get('content-type')).toBe('application/problem+json');
  expect(answered.text).not.toContain('canary');
});

it('bytes that are no UTF-8 are refused', async () => {
  const world = await openIntakeWorld();
  const response = await fetch(`${world.url()}/v1/requests`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${deskKey}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    },
    body: Buffer.from(text.replace('ann', 'ä'), 'latin1'),
  });
  expect(response.status).toBe(400);
});

it.for([
  ['no key', { key: '' }, 401],
  ['the digest of a key', { key: digestOf(deskKey) }, 401],
  ['another key', { key: 'x'.repeat(43) }, 401],
  ['another scheme', { headers: { authorization: `Basic ${deskKey}` } }, 401],
  ['no idempotency key', { headers: { 'idempotency-key': '' } }, 400],
  ['a short idempotency key', { headers: { 'idempotency-key': 'T-1' } }, 400],
  ['another type', { headers: { 'content-type': 'text/plain' } }, 415],
  ['an encoding', { headers: { 'content-encoding': 'gzip' } }, 415],
] as const)('a request with %s is refused', async ([, sent, status]) => {
  const world = await openIntakeWorld();
  expect((await world.post(text, randomUUID(), sent)).status).toBe(status);
});

it('other addresses and methods are told so, and the id of nobody is no request', async () => {
  const world = await openIntakeWorld();
  const ask = (method: string, path: string) => callIntake(world.url(), path, { method });
  expect(await ask('GET', '/')).toMatchObject({ status: 404 });
  expect(await ask('GET', '/v1/requests/x')).toMatchObject({ status: 404 });
  const refused = await ask('DELETE', '/v1/requests');
  expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST']);
  expect(await world.get(randomUUID())).toMatchObject({ status: 404, body: { title: 'no_such_request' } });
});

it('a sender has so many requests an hour: replays and refusals take none, and others have their own', async () => {
  const other = 'o'.repeat(40);
  const senders = [senderOf({ perHour: 2 }), senderOf({ name: 'other', keys: [digestOf(other)] })];
  const world = await openIntakeWorld(senders);
  const key = randomUUID();
  for (let time = 0; time < 5; time += 1) expect((await world.post(text, key)).status).toBe(201);
  expect((await world.post(eraseBody('x@canary.example'), key)).status).toBe(409);
  expect((await world.post(text)).status).toBe(201);
  const refused = await world.post(text);
  expect(refused).toMatchObject({ status: 429, body: { title: 'too_many' } });
  const seconds = Number(refused.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(1_700);
  expect((await world.post(text, randomUUID(), { key: other })).status).toBe(201);
  world.clock.nowMs += seconds * 1000;
  expect((await world.post(text)).status).toBe(201);
  // A clock that is set back gives nothing.
  world.clock.nowMs -= 86_400_000;
  expect((await world.post(text)).status).toBe(429);
});
