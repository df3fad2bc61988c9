import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Machine } from './machine.ts';

/** The service and the receiver of alerts beside a machine's reader, both on its loopback. */
export type World = {
  url: string;
  projectId: string;
  apiKey: string;
  webhook: string;
  /** The living persons and the recordings that the service has. */
  truth(): { persons: number; recordings: number };
  /** The alerts that were received, each as the JSON that was sent. */
  alerts(): string[];
  /** Sets the clocks of the machine and of the service ahead, both by as much. */
  pass(seconds: number): void;
};

const webhookPort = 8020;
const receiver = `
  require('node:http').createServer((request, response) => {
    request.pipe(process.stdout, { end: false });
    request.on('end', () => response.end(console.log('')));
  }).listen(${webhookPort}, '127.0.0.1');`;

/** Waits until something is so, for at most a minute and a half. */
export async function until(what: string, isSo: () => boolean): Promise<void> {
  const endsAt = performance.now() + 90_000;
  while (!isSo()) {
    if (performance.now() > endsAt) throw new Error(`This has not come: ${what}`);
    await delay(300);
  }
}

/** Starts a sandbox that behaves as live services do, and a receiver. */
export async function openWorld(machine: Machine): Promise<World> {
  const bare = 'env --unset=NODE_OPTIONS node';
  machine.start(
    `${bare} /checkout/src/main.ts sandbox --json --profile live --persons 300 --recordings 120`,
    '/run/tutorial/sandbox',
  );
  machine.start(`${bare} --eval "${receiver.replaceAll('\n', ' ')}"`, '/run/tutorial/alerts');
  const said = (): string => readFileSync(machine.path('/run/tutorial/sandbox'), 'utf8');
  await until('the sandbox', () => said().includes('\n'));
  const { url, projectId, apiKey } = JSON.parse(said().split('\n')[0] ?? '') as Record<
    'url' | 'projectId' | 'apiKey',
    string
  >;
  const ask = (path: string, ...options: string[]): string => {
    const { code, stdout, stderr } = machine.ask([
      'curl',
      '--silent',
      '--show-error',
      '--fail',
      ...options,
      `${url}${path}`,
    ]);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  let aheadSeconds = 0;
  return {
    url,
    projectId,
    apiKey,
    webhook: `http://127.0.0.1:${webhookPort}/alerts`,
    truth: () => {
      const [persons, recordings] = ['persons', 'session_recordings'].map((list) => {
        const query = list === 'persons' ? 'include_total=true&limit=1' : 'date_from=-30d&limit=200';
        return ask(`/api/projects/${projectId}/${list}/?${query}`, '--header', `Authorization: Bearer ${apiKey}`);
      }) as [string, string];
      const { count } = JSON.parse(persons) as { count: number };
      return { persons: count, recordings: (JSON.parse(recordings) as { results: unknown[] }).results.length };
    },
    alerts: () =>
      readFileSync(machine.path('/run/tutorial/alerts'), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('{')),
    pass: (seconds) => {
      const body = JSON.stringify({ advanceSeconds: seconds });
      ask('/__sandbox/clock', '--data', body, '--header', 'Content-Type: application/json');
      aheadSeconds += seconds;
      machine.setAhead(aheadSeconds);
    },
  };
}
