import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startsWithinMs } from '../../src/client/budget.ts';
import { localServer } from '../client/local-server.ts';
import { mostInSpan } from '../client/most-in-span.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { freshDatabase } from './cluster-world.ts';
import type { WorkerOptions } from './budget-worker.ts';

const program = fileURLToPath(new URL('budget-worker.ts', import.meta.url));
const windows = [
  { requests: 10, perSeconds: 1 },
  { requests: 24, perSeconds: 4 },
];

/** A service that notes when each request came, and what starts machines that use it with one key. */
async function openScene() {
  const arrivals: number[] = [];
  const { origin } = await localServer((_request, response) => {
    arrivals.push(Date.now());
    response.setHeader('content-type', 'application/json');
    response.end('{"count":0,"next":null,"previous":null,"results":[]}');
  });
  const database = await freshDatabase();
  const start = (aheadMs = 0): ChildProcess => {
    const options: WorkerOptions = { dataDir: freshFolder(), origin, database, windows, aheadMs };
    const child = spawn(process.execPath, [program, JSON.stringify(options)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };
  const expectWithin = (): void => {
    for (const window of windows) expect(mostInSpan(arrivals, window)).toBeLessThanOrEqual(window.requests);
  };
  return { arrivals, start, expectWithin };
}

test('two machines, one with a wrong clock, keep one budget, and use nine tenths of it or more', async () => {
  const { arrivals, start, expectWithin } = await openScene();
  const machines = [start(), start(3_600_000)];
  while (arrivals.length === 0) await delay(10);
  const fromMs = arrivals[0] ?? 0;
  await delay(16_000);
  expectWithin();
  const lastedMs = Date.now() - fromMs;
  const allowed = 24 * Math.floor(lastedMs / 4000);
  process.stdout.write(`two machines: ${arrivals.length} requests in ${lastedMs} ms; ${allowed} are allowed\n`);
  expect(arrivals.length).toBeGreaterThanOrEqual(allowed * 0.9);
  for (const machine of machines) expect(machine.exitCode).toBeNull();
});

test('machines that are killed, or stopped for longer than a place in a window is kept, exceed no window', async () => {
  const { arrivals, start, expectWithin } = await openScene();
  const [steady, stopped] = [start(), start()];
  while (arrivals.length < 5) await delay(10);
  stopped.kill('SIGSTOP');
  const untilMs = Date.now() + startsWithinMs + 2000;
  let kills = 0;
  while (Date.now() < untilMs) {
    const killed = start();
    await delay(1500 + kills * 110);
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    kills += 1;
  }
  stopped.kill('SIGCONT');
  await delay(4000);
  expectWithin();
  expect(kills).toBeGreaterThan(4);
  for (const machine of [steady, stopped]) expect(machine.exitCode).toBeNull();
});
