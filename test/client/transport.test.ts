import { once } from 'node:events';
import { MockAgent } from 'undici';
import { expect, test } from 'vitest';
import { localServer, type Answerer } from './local-server.ts';
import { apiKey, get, transportAt, transportTo, unreachable } from './local-transport.ts';

test('an answer is passed on with its status, type, text and clocks', async () => {
  const transport = await transportTo((_request, response) => {
    response.writeHead(429, {
      'content-type': 'application/json; charset=utf-8',
      'retry-after': '7',
      date: 'Thu, 01 Jan 2026 00:00:00 GMT',
    });
    response.end('{"detail":"später 😀"}');
  });
  expect(await transport.send(get)).toEqual({
    status: 429,
    contentType: 'application/json; charset=utf-8',
    retryAfter: '7',
    date: 'Thu, 01 Jan 2026 00:00:00 GMT',
    ageSeconds: 0,
    bytes: Buffer.from('{"detail":"später 😀"}'),
  });
});

test.for([
  ['never begins', () => undefined],
  [
    'drips without end',
    (_request, response) => {
      const drip = setInterval(() => response.write('.'), 5);
      response.on('close', () => clearInterval(drip));
    },
  ],
] as const satisfies [string, Answerer][])('an answer that %s ends with the total time', async ([, answer]) => {
  const transport = await transportTo(answer, { totalTimeoutMs: 60 });
  await expect(transport.send(get)).rejects.toMatchObject({
    ...unreachable,
    message: expect.stringContaining('no whole answer in time'),
  });
});

test('a service that does not run is unreachable, with the reason and without the key', async () => {
  const { origin, server } = await localServer(() => undefined);
  server.close();
  await once(server, 'close');
  const error: unknown = await transportAt(origin)
    .send(get)
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({ ...unreachable, message: `no answer from ${origin}: ECONNREFUSED` });
  expect(JSON.stringify(error)).not.toContain(apiKey);
});

test.for(['SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERT_HAS_EXPIRED'])(
  'the hint for a certificate that is not trusted (%s) names the variable for an own authority',
  async (code) => {
    const origin = 'https://analytics.example.com';
    const pool = new MockAgent().get(origin);
    pool.intercept({ path: get.path }).replyWithError(Object.assign(new Error('refused'), { code }));
    await expect(transportAt(origin, {}, 1, pool).send(get)).rejects.toMatchObject({
      ...unreachable,
      message: `no answer from ${origin}: ${code}`,
      hint: expect.stringContaining('set NODE_EXTRA_CA_CERTS'),
    });
  },
);

test('a redirect is an answer: it is not followed, and the key stays with its host', async () => {
  let asked = 0;
  const elsewhere = await localServer((_request, response) => {
    asked += 1;
    response.end();
  });
  const transport = await transportTo((_request, response) => {
    response.writeHead(307, { location: `${elsewhere.origin}/` });
    response.end();
  });
  expect((await transport.send({ method: 'DELETE', path: '/' })).status).toBe(307);
  expect(asked).toBe(0);
});

test('the key travels in its header only, a body as JSON', async () => {
  const transport = await transportTo(async (request, response) => {
    const body = (await request.toArray()).join('');
    const { authorization, ...headers } = request.headers;
    response.end(JSON.stringify({ method: request.method, url: request.url, authorization, headers, body }));
  });
  const read = JSON.parse((await transport.send({ method: 'GET', path: '/a?b=c' })).bytes.toString()) as Record<
    string,
    object
  >;
  expect(read).toMatchObject({ method: 'GET', url: '/a?b=c', authorization: `Bearer ${apiKey}`, body: '' });
  expect(read['headers']).not.toHaveProperty('content-type');
  expect(read['headers']).toMatchObject({ 'cache-control': 'no-cache' });
  expect(JSON.stringify({ ...read, authorization: '' })).not.toContain(apiKey);
  const written = await transport.send({ method: 'PATCH', path: '/', body: '{"name":"ü"}' });
  expect(JSON.parse(written.bytes.toString())).toMatchObject({
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: '{"name":"ü"}',
  });
});

test.each([
  [undefined, 0],
  ['0', 0],
  ['7', 7],
  ['x', 0],
])('an answer of the age %s is as old: %s', async (age, ageSeconds) => {
  const transport = await transportTo((_request, response) => {
    if (age !== undefined) response.setHeader('age', age);
    response.end();
  });
  expect((await transport.send(get)).ageSeconds).toBe(ageSeconds);
});

test('one connection serves one request after another', async () => {
  const ports = new Set<number | undefined>();
  const transport = await transportTo((request, response) => {
    ports.add(request.socket.remotePort);
    response.end('ok');
  });
  for (let call = 0; call < 5; call += 1) await transport.send(get);
  expect(ports.size).toBe(1);
});

test('as many connections are opened as are allowed', async () => {
  const waiting: (() => void)[] = [];
  const transport = await transportTo(
    (_request, response) => {
      waiting.push(() => response.end());
      if (waiting.length === 3) for (const end of waiting) end();
    },
    {},
    3,
  );
  await expect(Promise.all([transport.send(get), transport.send(get), transport.send(get)])).resolves.toHaveLength(3);
});

test('an abort ends a request with its own reason, before, while it waits and while it is read', async () => {
  const stop = { before: new AbortController(), waiting: new AbortController(), reading: new AbortController() };
  const asked: string[] = [];
  const transport = await transportTo((request, response) => {
    asked.push(request.url ?? '');
    if (request.url === '/waiting') stop.waiting.abort('stopped');
    else response.write('half', () => stop.reading.abort('stopped'));
  });
  stop.before.abort('stopped');
  for (const [name, { signal }] of Object.entries(stop)) {
    await expect(transport.send({ method: 'GET', path: `/${name}`, signal })).rejects.toBe('stopped');
  }
  expect(asked).toEqual(['/waiting', '/reading']);
});
