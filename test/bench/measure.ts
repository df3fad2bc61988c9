import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { CaseName, CaseParameters, Measurement } from './case.ts';

/** Runs one case in a process of its own. Rejects when it ends without a measurement; its words are on stderr. */
export async function measure(name: CaseName, parameters: CaseParameters): Promise<Measurement> {
  const child = fork(new URL('./case.ts', import.meta.url), [name, JSON.stringify(parameters)]);
  const measurement = await firstMessage<Measurement>(child, name);
  await once(child, 'exit');
  return measurement;
}

/** Starts the server of ready-made pages. */
export async function startPageServer(rows: number): Promise<{ origin: string; stop: () => Promise<void> }> {
  const child = fork(new URL('./page-server.ts', import.meta.url), [String(rows)]);
  const origin = await firstMessage<string>(child, 'page server');
  return {
    origin,
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
