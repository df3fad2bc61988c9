import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../core/clock.ts';
import { AppError, type ErrorCode } from '../core/errors.ts';
import type { WorkerState } from '../job/worker-state.ts';
import type { AccessRules } from './access.ts';
import { processMetrics } from './metrics.ts';

/** What the page is to show, and where. */
export type PageSetup = {
  version: string;
  /** ISO 8601 UTC. */
  startedAt: string;
  access: AccessRules;
  port: number;
  projects: readonly (Pick<Settings, 'dataDir' | 'budget'> & { name: string })[];
};

/** What the thread of the page is given. `beat` is when the jobs' thread was last heard of, in milliseconds since 1970. */
export type PageTask = PageSetup & { beat: BigInt64Array };

/** A message to the thread of the page. */
export type ToPage = { state: WorkerState } | { metrics: string } | { close: true };

/** A message from the thread of the page. */
export type FromPage =
  | { url: string }
  | { refused: { message: string; code: ErrorCode; hint: string | undefined } }
  | { wants: 'metrics' }
  | { failed: string };

/** The status page, which a thread of its own serves. */
export type StatusPage = {
  /** Without a trailing slash. */
  url: string;
  /** The state that the page shows from now on. */
  show(state: WorkerState): void;
  /** Takes no new request and resolves when every connection is closed. */
  close(): Promise<void>;
};

const beatEveryMs = 1_000;

/**
 * Serves the status page. Throws `usage` as `startStatusServer` does. `onError` hears the code of an error that a request was
 * answered with. An error that ends the thread ends the program.
 */
export async function startStatusPage(
  setup: PageSetup,
  clock: Pick<Clock, 'now'>,
  onError: (code: string) => void,
): Promise<StatusPage> {
  const beat = new BigInt64Array(new SharedArrayBuffer(8));
  const live = (): void => void Atomics.store(beat, 0, BigInt(clock.now()));
  live();
  const task: PageTask = { ...setup, beat };
  // It needs nothing of the environment, where the API key is.
  const thread = new Worker(new URL('./page-thread.ts', import.meta.url), { workerData: task, env: {} });
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  const tell = (message: ToPage): void => thread.postMessage(message);
  const ended = once(thread, 'exit');
  const ofProcess = processMetrics();
  const { promise: started, resolve, reject } = Promise.withResolvers<string>();
  thread.on('message', (message: FromPage) => {
    if ('url' in message) resolve(message.url);
    else if ('refused' in message) reject(new AppError(message.refused.message, message.refused));
    else if ('failed' in message) onError(message.failed);
    else void ofProcess().then((metrics) => tell({ metrics }));
  });
  const url = await started;
  const timer = setInterval(live, beatEveryMs);
  timer.unref();
  return {
    url,
    show: (state) => tell({ state }),
    close: async () => {
      clearInterval(timer);
      tell({ close: true });
      await ended;
    },
  };
}
