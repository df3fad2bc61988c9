import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import type { ChildOptions } from './budget-child.ts';
import { localServer } from './local-server.ts';
import { mostInSpan } from './most-in-span.ts';

const childPath = fileURLToPath(new URL('budget-child.ts', import.meta.url));

function startChild(options: ChildOptions): ChildProcess {
  const child = spawn(process.execPath, [childPath, JSON.stringify(options)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

test('over two processes that are killed and started again, the service sees no window exceeded', async () => {
  const arrivals: number[] = [];
  const { origin } = await localServer(async (_request, response) => {
    arrivals.push(Date.now());
    // The seventh of each ten is never answered: it times out.
    if (arrivals.length % 10 === 7) return;
    await delay((arrivals.length * 17) % 60);
    response.end('ok');
  });
  const windows = [
    { requests: 10, perSeconds: 1 },
    { requests: 24, perSeconds: 4 },
  ];
  const options = { dataDir: freshFolder(), origin, concurrency: 3, windows, requestTimeoutMs: 500 };
  const steady = startChild(options);
  const endsAtMs = Date.now() + 13_000;
  let kills = 0;
  while (Date.now() < endsAtMs) {
    const child = startChild(options);
    await delay(900 + kills * 130);
    expect(child.exitCode).toBeNull();
    child.kill('SIGKILL');
    await once(child, 'exit');
    kills += 1;
  }
  expect(steady.exitCode).toBeNull();
  expect(kills).toBeGreaterThan(5);
  for (const window of windows) expect(mostInSpan(arrivals, window)).toBeLessThanOrEqual(window.requests);
  // Lost answers and killed processes cost their share, but no more.
  const allowed = 24 * (13 / 4);
  expect(arrivals.length).toBeGreaterThan(allowed * 0.7);
});
