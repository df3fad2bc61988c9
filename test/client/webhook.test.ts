import { expect, it } from 'vitest';
import { postWebhook } from '../../src/client/post.ts';
import { localServer } from './local-server.ts';

/** Waits for nothing. */
const tools = {
  clock: { now: () => 0, sleep: () => Promise.resolve() },
  random: () => 0.5,
  signal: new AbortController().signal,
};

it('posts JSON, and again until it is taken', async () => {
  const statuses = [503, 429, 204];
  const bodies: string[] = [];
  const { origin } = await localServer(async (request, response) => {
    bodies.push((await request.toArray()).join(''));
    response.writeHead(statuses[bodies.length - 1] ?? 500).end();
  });
  await postWebhook(`${origin}/secret`, { alert: 'stale' }, tools);
  expect(bodies).toEqual(['{"alert":"stale"}', '{"alert":"stale"}', '{"alert":"stale"}']);
});

it.each([
  [404, 'service', 1],
  [302, 'service', 1],
  [500, 'service', 30],
  // What stands before a receiver that is away: the alert is kept for it.
  [502, 'unreachable', 30],
])('gives up on %i, bounded, and never names the address', async (status, code, requests) => {
  let seen = 0;
  const { origin } = await localServer((_request, response) => {
    seen += 1;
    response.writeHead(status, { location: '/elsewhere' }).end();
  });
  const error: unknown = await postWebhook(`${origin}/secret`, {}, tools).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code, message: `the webhook did not accept an alert (status ${status})` });
  expect(JSON.stringify(error) + String(error)).not.toMatch(/secret|127\.0\.0\.1/);
  expect(seen).toBe(requests);
});
