import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { createApp } from '../../src/app/app.ts';
import { syncList } from '../../src/sync/sync-list.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { localServer } from './local-server.ts';
import { mostInSpan } from './most-in-span.ts';

const persons = 12_000;
const window = { requests: 20, perSeconds: 2 };

/** One person of a list that is newest first. */
const person = (index: number) => ({
  id: persons - index,
  uuid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  name: `person ${index}`,
  distinct_ids: [`id-${index}`],
  properties: {},
  created_at: new Date(Date.UTC(2026, 0, 1) - index * 1000).toISOString(),
});

/** Serves the list, and answers 429 to whoever is too early by the server's own log. */
function strictList(arrivals: number[], counts: { throttled: number }) {
  return (request: IncomingMessage, response: ServerResponse) => {
    const nowMs = Date.now();
    if (mostInSpan([...arrivals.slice(-window.requests), nowMs], window) > window.requests) {
      counts.throttled += 1;
      response.writeHead(429).end();
      return;
    }
    arrivals.push(nowMs);
    const query = new URL(request.url ?? '', 'http://service.invalid').searchParams;
    const [offset, limit] = [Number(query.get('offset')), Number(query.get('limit'))];
    const results = Array.from({ length: Math.max(0, Math.min(limit, persons - offset)) }, (_value, index) =>
      person(offset + index),
    );
    const isLast = offset + limit >= persons;
    const next = isLast ? null : `http://service.invalid/?limit=${limit}&offset=${offset + limit}`;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ count: persons, next, previous: null, results }));
  };
}

test('a pass over 12,000 persons meets no 429 and takes nine tenths of what is allowed, or more', async () => {
  const arrivals: number[] = [];
  const counts = { throttled: 0 };
  const { origin } = await localServer(strictList(arrivals, counts));
  const app = createApp(
    { environment: { MIRROR_BASE_URL: origin, MIRROR_PROJECT_ID: '1', MIRROR_API_KEY: 'key' }, isTerminal: false },
    {
      set: [
        { path: 'dataDir', value: freshFolder() },
        { path: 'log.level', value: 'silent' },
        { path: 'persons.pageSize', value: 100 },
        { path: 'budget.windows', value: [window] },
        { path: 'budget.concurrency', value: 4 },
      ],
    },
  );
  onTestFinished(() => app.close());
  const db = app.database();
  const pass = await syncList({
    dataset: 'persons',
    mode: 'full',
    resume: false,
    db,
    service: app.service(),
    settings: app.settings,
    clock: app.clock,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  expect(pass).toMatchObject({ verdict: 'complete', rowsAdded: persons });
  expect(counts.throttled).toBe(0);
  const tookMs = (arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0);
  const idealMs = (Math.ceil(arrivals.length / window.requests) - 1) * window.perSeconds * 1000;
  expect(tookMs).toBeLessThan(idealMs / 0.9);
});
