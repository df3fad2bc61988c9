import { expect, test } from 'vitest';
import { localServer } from '../client/local-server.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { jsonOf, runCli } from './run-cli.ts';

test('an answer 429 is told of once, with its pause and without an address, and then passes', async () => {
  const askedAtMs: number[] = [];
  const { origin } = await localServer((_request, response) => {
    askedAtMs.push(performance.now());
    if (askedAtMs.length === 1) response.writeHead(429, { 'retry-after': '1' }).end();
    else response.setHeader('content-type', 'application/json').end('{"id":12}');
  });
  const env = {
    MIRROR_BASE_URL: origin,
    MIRROR_PROJECT_ID: '1',
    MIRROR_API_KEY: 'secret-key',
    MIRROR_DATA_DIR: freshFolder(),
  };
  const ended = await runCli(['call', 'persons.retrieve', '--param', 'id=12', '--json'], { env });
  expect(jsonOf(ended)).toEqual({ status: 200, body: { id: 12 } });
  const [line, ...others] = ended.stderr.trim().split('\n');
  expect(others).toEqual([]);
  const { time, level: _level, until, ...logged } = JSON.parse(line ?? '') as Record<string, unknown>;
  expect(logged).toEqual({ status: 429, pauseMs: 1000, msg: 'too many requests, pausing' });
  expect(Math.abs(Date.parse(String(until)) - Date.parse(String(time)) - 1000)).toBeLessThan(20);
  expect((askedAtMs[1] ?? 0) - (askedAtMs[0] ?? 0)).toBeGreaterThanOrEqual(998);
});
