import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { CaseName, CaseParameters, Measurement } from './case.ts';
import type { Shape } from './persons.ts';
import type { Usage } from './usage.ts';

/** Runs one case in a process of its own. Rejects when it ends without a measurement; its words are on stderr. */
export async function measure(name: CaseName, parameters: CaseParameters): Promise<Measurement> {
  const child = fork(new URL('./case.ts', import.meta.url), [name, JSON.stringify(parameters)]);
  const measurement = await firstMessage<Measurement>(child, name);
  await once(child, 'exit');
  return measurement;
}

/** The program as the package ships it. */
const main = new URL('../../dist/main.js', import.meta.url);
const preload = new URL('measured.ts', import.meta.url);

/** Runs a command of the program in a data folder, from its start to its end. Rejects unless it ends with 0. */
export async function measureCommand(
  command: readonly string[],
  origin: string,
  dataDir: string,
  apiKey = 'bench',
): Promise<Measurement> {
  const file = `${dataDir}.usage.json`;
  const startedAt = performance.now();
  const child = spawn(
    process.execPath,
    ['--import', preload.href, fileURLToPath(main), ...command, '--data-dir', dataDir, '--set', 'budget.windows=[]'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        MIRROR_BASE_URL: origin,
        MIRROR_PROJECT_ID: '1',
        MIRROR_API_KEY: apiKey,
        MIRROR_LOG_LEVEL: 'silent',
        BENCH_RESULT: file,
      },
    },
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  const ms = performance.now() - startedAt;
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${String(code)}`);
  const usage = JSON.parse(readFileSync(file, 'utf8')) as Usage;
  rmSync(file);
  return { ms, ...usage };
}

/** Runs a script of somebody else's over the same server, by a Python that has what it imports. */
export async function measurePython(
  python: string,
  script: 'dlt-case.py' | 'plain-case.py',
  ...args: readonly string[]
): Promise<Measurement & { rows: number; kept: number }> {
  const file = fileURLToPath(new URL(script, import.meta.url));
  const startedAt = performance.now();
  const child = spawn(python, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let last = '';
  for await (const line of createInterface({ input: child.stdout })) last = line;
  const ms = performance.now() - startedAt;
  return { ms, ...(JSON.parse(last) as Usage & { rows: number; kept: number }) };
}

/** Starts the server of ready-made pages. `show` says which of its two lists it shows, and how many persons go after each page. */
export async function startPageServer(
  rows: number,
  shape: Shape = 'mixed',
): Promise<{ origin: string; show: (generation: number, drift?: number) => Promise<void>; stop: () => Promise<void> }> {
  const child = fork(new URL('./page-server.ts', import.meta.url), [String(rows), shape]);
  const origin = await firstMessage<string>(child, 'page server');
  return {
    origin,
    show: async (generation, drift = 0) => {
      child.send({ generation, drift });
      await once(child, 'message');
    },
    stop: async () => {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

async function firstMessage<T>(child: ChildProcess, name: string): Promise<T> {
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`${name} ended without an answer (exit code ${String(code)})`);
  });
  const [message] = (await Promise.race([once(child, 'message'), exited])) as [T];
  return message;
}
