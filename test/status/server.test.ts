import { once } from 'node:events';
import { request as sendRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { IncomingHttpHeaders } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import type { AccessRules } from '../../src/status/access.ts';
import type { Overview } from '../../src/status/overview.ts';
import { startStatusServer } from '../../src/status/server.ts';
import type { Listening } from '../../src/core/listening.ts';
import { worlds } from './worlds.ts';

const token = '0123456789abcdef0123456789abcdef';
const withToken = { Authorization: `Basic ${Buffer.from(`any:${token}`).toString('base64')}` };

/** A clock that only a test moves. */
function openClock(): { now: () => number; pass: (ms: number) => void } {
  let nowMs = 0;
  return { now: () => nowMs, pass: (ms) => (nowMs += ms) };
}

async function serve(overview: () => Overview = () => worlds.fresh, access: Partial<AccessRules> = {}) {
  const errors: unknown[] = [];
  const silent = { ms: 0 };
  const clock = openClock();
  const server = await startStatusServer({
    access: { host: '127.0.0.1', allowedHosts: [], token: null, ...access },
    port: 0,
    overview: async () => overview(),
    processMetrics: () => Promise.resolve(''),
    certificateOf: (project, request) => (project === 'production' && request === 'c0ffee' ? '{}' : undefined),
    silentMs: () => silent.ms,
    clock,
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => server.close());
  return { server, errors, silent, clock };
}

/** A request with any method and `Host`, which `fetch` does not let one choose. */
function ask(
  server: Listening,
  path: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = sendRequest(new URL(path, server.url), { method, headers: { Connection: 'close', ...headers } });
    sent.on('error', reject);
    sent.on('response', (response) => {
      text(response).then(
        (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
        reject,
      );
    });
    sent.end();
  });
}

const paths = [
  '/',
  '/certificate/production/c0ffee',
  '/healthz',
  '/readyz',
  '/metrics',
  '/status.json',
  '/icon/well.svg',
  '/nowhere',
];

test.each([
  ['/', 200, 'text/html; charset=UTF-8'],
  ['/healthz', 200, 'text/plain;charset=UTF-8'],
  ['/readyz', 200, 'application/json'],
  ['/metrics', 200, 'text/plain; version=0.0.4; charset=utf-8'],
  ['/status.json', 200, 'application/json'],
  ['/certificate/production/c0ffee', 200, 'application/json'],
  ['/certificate/production/unknown', 404, 'text/plain; charset=UTF-8'],
  ['/certificate/other/c0ffee', 404, 'text/plain; charset=UTF-8'],
  ['/icon/well.svg', 200, 'image/svg+xml'],
  ['/icon/other.svg', 404, 'text/plain; charset=UTF-8'],
  ['/nowhere', 404, 'text/plain; charset=UTF-8'],
])('%s is answered with %i, guarded by every header', async (path, status, type) => {
  const { server } = await serve();
  const answer = await ask(server, path);
  expect(answer.status).toBe(status);
  expect(answer.headers).toMatchObject({
    'content-type': type,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
  });
  expect(answer.headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
  expect(answer.headers['content-security-policy']).not.toMatch(/unsafe/);
  expect(answer.headers['content-security-policy']).toMatch(/frame-ancestors 'none'/);
});

test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('%s is refused everywhere', async (method) => {
  const { server } = await serve();
  for (const path of paths) {
    const { status, headers } = await ask(server, path, { method });
    expect(status).toBe(405);
    expect(headers['allow']).toBe('GET, HEAD');
    expect(headers['x-content-type-options']).toBe('nosniff');
  }
});

test('under a name that is not its own, it says nothing but whether it lives and is ready', async () => {
  const { server } = await serve(() => worlds.stale);
  const headers = { Host: 'evil.example.com' };
  for (const path of ['/', '/metrics', '/status.json', '/icon/well.svg', '/nowhere']) {
    const { status, body } = await ask(server, path, { headers });
    expect(status).toBe(421);
    expect(body).not.toMatch(/production/);
  }
  expect(await ask(server, '/healthz', { headers })).toMatchObject({ status: 200, body: 'alive\n' });
  expect(await ask(server, '/readyz', { headers })).toMatchObject({ status: 503, body: 'not ready\n' });
});

test('without the token, it says nothing but whether it lives and is ready', async () => {
  const { server } = await serve(() => worlds.stale, { token });
  for (const path of ['/', '/metrics', '/status.json', '/nowhere', `/?token=${token}`]) {
    const { status, headers, body } = await ask(server, path);
    expect(status).toBe(401);
    expect(headers['www-authenticate']).toMatch(/^Basic realm=/);
    expect(body).not.toMatch(/production/);
  }
  expect((await ask(server, '/readyz')).body).toBe('not ready\n');
  expect((await ask(server, '/', { headers: withToken })).status).toBe(200);
  expect((await ask(server, '/readyz', { headers: withToken })).body).toContain('persons is stale');
});

test('a host that is not loopback is refused at start without a token', async () => {
  await expect(serve(undefined, { host: '0.0.0.0' })).rejects.toMatchObject({ code: 'usage' });
});

test('an error is told to the log, and to nobody who asks', async () => {
  const error = new AppError('about ann@example.com', { code: 'storage' });
  const { server, errors } = await serve(() => {
    throw error;
  });
  for (const path of ['/', '/metrics', '/status.json', '/readyz']) {
    const { status, headers, body } = await ask(server, path);
    expect([status, headers['x-content-type-options']]).toEqual([500, 'nosniff']);
    expect(body).not.toMatch(/ann/);
  }
  expect(errors).toHaveLength(4);
  expect(errors[0]).toBe(error);
  expect((await ask(server, '/healthz')).status).toBe(200);
});

test.each(['/', '/project/production'])('%s is sent again only when it shows something else', async (path) => {
  let overview: Overview = worlds.fresh;
  const { server, clock } = await serve(() => overview);
  const first = await ask(server, path);
  const headers = { 'If-None-Match': String(first.headers['etag']) };
  const statusAfter = async (next: Overview) => {
    overview = next;
    clock.pass(2_000);
    return (await ask(server, path, { headers })).status;
  };
  expect(await statusAfter({ ...worlds.fresh, at: '2026-11-20T12:04:59.000Z' })).toBe(304);
  expect(await statusAfter({ ...worlds.fresh, at: '2026-11-20T12:05:00.000Z' })).toBe(200);
  expect(await statusAfter(worlds.stale)).toBe(200);
  expect(await statusAfter(worlds.fresh)).toBe(304);
});

test('each of several projects has a page of its own', async () => {
  const { server } = await serve(() => worlds['two projects']);
  const [, second] = worlds['two projects'].projects;
  const { status, body } = await ask(server, `/project/${encodeURIComponent(second.name)}`);
  expect(status).toBe(200);
  expect(body).toContain('he data are getting old');
  expect(body).not.toContain('id="p1"');
  expect((await ask(server, '/project/none')).status).toBe(404);
});

test('a worker that was not heard of for an hour is no longer alive', async () => {
  const { server, silent } = await serve();
  silent.ms = 3_599_000;
  expect((await ask(server, '/healthz')).status).toBe(200);
  silent.ms = 3_600_000;
  expect((await ask(server, '/healthz')).status).toBe(503);
});

test('a request with a body is refused, and its connection ended', async () => {
  const { server } = await serve();
  const sent = sendRequest(new URL('/', server.url), { method: 'GET', headers: { 'Transfer-Encoding': 'chunked' } });
  const ended = once(sent, 'close');
  sent.on('error', () => undefined);
  sent.write('more');
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(413);
  response.resume();
  await ended;
});
