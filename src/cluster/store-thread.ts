import { parentPort, workerData } from 'node:worker_threads';
import { openBucket } from '../bucket/bucket.ts';
import { systemClock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import type { StoreAnswer, StoreQuestion, StoreTask } from './waiting-store.ts';

// Asks the bucket for a thread that waits: see waiting-store.ts.

const { destination, retry, port, done } = workerData as StoreTask;
const { signal } = new AbortController();
const bucket = openBucket(destination, { clock: systemClock, retry, signal });

parentPort?.on('message', (question: StoreQuestion) => void answer(question));

async function answer([operation, ...given]: StoreQuestion): Promise<void> {
  let told: StoreAnswer;
  try {
    const ask = (await bucket)[operation] as (...args: unknown[]) => Promise<unknown>;
    told = { result: await ask(...given) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { message, code, hint, finding, retryable, status } = error;
    told = { refused: { message, code, hint, finding, retryable, status } };
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  port.postMessage(told);
  Atomics.store(done, 0, 1);
  Atomics.notify(done, 0);
}
