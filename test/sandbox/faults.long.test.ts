import { createGunzip } from 'node:zlib';
import { get, type IncomingMessage } from 'node:http';
import { expect, it, vi } from 'vitest';
import type { FaultKind } from '../../src/sandbox/faults/fault-plan.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { ask, smallSandbox, standingClock, type ListBody } from './sandbox-requests.ts';

const failing = (faults: FaultKind, options = {}): ReturnType<typeof smallSandbox> =>
  smallSandbox({ faults, faultShare: 1, clock: standingClock('2025-06-04T12:00:00Z'), ...options });
const statuses = (sandbox: Sandbox): number[] => sandbox.requests().map(({ status }) => status);
const headersOf = (sandbox: Sandbox): object => ({ headers: { Authorization: `Bearer ${sandbox.apiKey}` } });
const listUrl = (sandbox: Sandbox): string => `${sandbox.url}/api/environments/1/persons/`;

it('none, unless they are asked for', async () => {
  await using sandbox = await smallSandbox();
  for (let request = 0; request < 50; request += 1) await ask(sandbox, '/persons/1');
  expect(new Set(statuses(sandbox))).toEqual(new Set([200]));
});

it.each(['500', '502', '503', '504', '512'] as const)('%s comes without anything being done', async (kind) => {
  await using sandbox = await failing(kind);
  expect((await ask(sandbox, '/persons/1/', { method: 'DELETE' })).status).toBe(Number(kind));
  expect(sandbox.store.persons.find(1)).toBeDefined();
  expect(statuses(sandbox)).toEqual([Number(kind)]);
});

it('429 names its wait in seconds, as a date, not at all, or absurdly', async () => {
  await using sandbox = await failing('429');
  const waits = new Set<string | null>();
  for (let request = 0; request < 40; request += 1) {
    const answer = await ask(sandbox, '/persons/');
    expect(answer.status).toBe(429);
    waits.add(answer.headers.get('retry-after'));
  }
  expect(waits).toEqual(new Set(['1', 'Wed, 04 Jun 2025 12:00:02 GMT', null, '1000000000']));
});

it.each([
  ['html', /^<!doctype html>/, 'text/html; charset=utf-8'],
  ['empty', /^$/, null],
  ['garbage', /^\{"next":null/, 'application/json'],
] as const)('%s is a 200 that is no answer', async (kind, body, type) => {
  await using sandbox = await failing(kind);
  const { status, text, headers } = await ask(sandbox, '/persons/');
  expect([status, headers.get('content-type')]).toEqual([200, type]);
  expect(text).toMatch(body);
  expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
});

it('redirect leads to another host', async () => {
  await using sandbox = await failing('redirect');
  const response = await fetch(listUrl(sandbox), { ...headersOf(sandbox), redirect: 'manual' });
  expect([response.status, new URL(response.headers.get('location') ?? '').host]).toEqual([
    302,
    'login.example.invalid',
  ]);
});

it('reset ends the connection before anything is done', async () => {
  await using sandbox = await failing('reset');
  await expect(ask(sandbox, '/persons/1/', { method: 'DELETE' })).rejects.toMatchObject({
    cause: { code: 'ECONNRESET' },
  });
  expect(sandbox.store.persons.find(1)).toBeDefined();
  expect(statuses(sandbox)).toEqual([0]);
});

it('cut sends half of what it announced', async () => {
  await using sandbox = await failing('cut');
  const response = await new Promise<IncomingMessage>((resolve) => {
    get(listUrl(sandbox), headersOf(sandbox), resolve);
  });
  let bytes = 0;
  response.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await expect(new Promise((_, reject) => response.on('error', reject))).rejects.toThrow('aborted');
  const announced = Number(response.headers['content-length']);
  expect(bytes).toBe(Math.floor(announced / 2));
  expect(statuses(sandbox)).toEqual([200]);
});

it('slow answers are whole, and come within seconds', async () => {
  await using sandbox = await failing('slow', { seed: 3, faultHoldMs: 400 });
  await using quick = await smallSandbox({ seed: 3 });
  const expected = (await ask(quick, '/persons/?limit=30')).text.replaceAll(quick.url, '');
  const startedAt = performance.now();
  const answers = await Promise.all(Array.from({ length: 8 }, () => ask(sandbox, '/persons/?limit=30')));
  const tookMs = performance.now() - startedAt;
  expect(new Set(answers.map(({ text }) => text.replaceAll(sandbox.url, '')))).toEqual(new Set([expected]));
  expect(tookMs).toBeGreaterThan(100);
  expect(tookMs).toBeLessThan(1500);
});

it('huge unpacks to hundreds of megabytes', async () => {
  await using sandbox = await failing('huge');
  const response = await new Promise<IncomingMessage>((resolve) => {
    get(listUrl(sandbox), headersOf(sandbox), resolve);
  });
  expect(response.headers['content-encoding']).toBe('gzip');
  let packed = 0;
  response.on('data', (chunk: Buffer) => (packed += chunk.length));
  let unpacked = 0;
  for await (const chunk of response.pipe(createGunzip())) unpacked += (chunk as Buffer).length;
  expect(unpacked).toBeGreaterThan(300 * 1024 * 1024);
  expect(packed).toBeLessThan(1024 * 1024);
});

it('bad-row has one row with wrong types, and its key', async () => {
  await using sandbox = await failing('bad-row');
  const { results } = JSON.parse((await ask(sandbox, '/persons/?limit=3')).text) as ListBody<{
    uuid: string;
    created_at: unknown;
  }>;
  expect(results.map(({ created_at: at }) => typeof at)).toEqual(['number', 'string', 'string']);
  expect(results.every(({ uuid }) => uuid.length === 36)).toBe(true);
});

it.each([
  ['next-stuck', '10', /^127/],
  ['next-back', '9', /^127/],
  ['next-elsewhere', '15', /^elsewhere/],
] as const)('%s points to offset %s', async (kind, offset, host) => {
  await using sandbox = await failing(kind);
  const { next } = JSON.parse((await ask(sandbox, '/persons/?limit=5&offset=10')).text) as ListBody<object>;
  const url = new URL(next ?? '');
  expect(url.searchParams.get('offset')).toBe(offset);
  expect(url.host).toMatch(host);
});

it('deep offsets fail unless the page is small', async () => {
  await using sandbox = await failing('deep', { persons: 1200 });
  const status = async (query: string): Promise<number> => (await ask(sandbox, `/persons/?${query}`)).status;
  expect(await status('limit=500')).toBe(200);
  expect(await status('limit=500&offset=1000')).toBe(500);
  expect(await status('limit=100&offset=1000')).toBe(200);
});

it('timeout-after-act deletes, and does not say so', async () => {
  await using sandbox = await failing('timeout-after-act', { faultHoldMs: 50 });
  await expect(ask(sandbox, '/persons/1/', { method: 'DELETE' })).rejects.toThrow('fetch failed');
  expect(sandbox.store.persons.find(1)).toBeUndefined();
  expect((await ask(sandbox, '/persons/1/')).status).toBe(404);
  expect(statuses(sandbox)).toEqual([0, 404]);
});

it('mixed faults pass: whoever asks again in the end reads every page whole', async () => {
  await using quiet = await smallSandbox({ persons: 300 });
  await using sandbox = await smallSandbox({ persons: 300, faults: 'mixed', faultShare: 0.4 });
  const persist = async (path: string): Promise<string> => {
    for (;;) {
      const answer = await ask(sandbox, path).catch(() => undefined);
      if (answer?.status === 200 && answer.text.endsWith(']}')) return answer.text.replaceAll(sandbox.url, '');
    }
  };
  for (let offset = 0; offset < 300; offset += 10) {
    const path = `/persons/?limit=10&offset=${offset}`;
    expect(await persist(path)).toBe((await ask(quiet, path)).text.replaceAll(quiet.url, ''));
  }
  expect(sandbox.requests().length).toBeGreaterThan(30);
});

it('closes at once while a fault holds an answer back', async () => {
  const sandbox = await failing('timeout-after-act');
  const closeOnceDeleted = async (): Promise<number> => {
    await vi.waitFor(() => expect(sandbox.store.persons.find(1)).toBeUndefined());
    const startedAt = performance.now();
    await sandbox.close();
    return performance.now() - startedAt;
  };
  const [, closedInMs] = await Promise.all([
    expect(ask(sandbox, '/persons/1/', { method: 'DELETE' })).rejects.toThrow('fetch failed'),
    closeOnceDeleted(),
  ]);
  expect(closedInMs).toBeLessThan(2800);
});
