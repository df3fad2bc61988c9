import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads';
import type { Bucket, Destination } from '../bucket/bucket.ts';
import { AppError, type ErrorDetail } from '../core/errors.ts';
import type { Settings } from '../config/settings.ts';

type Operation = 'describe' | 'fetch' | 'pathsAfter' | 'put';

/** Some calls of a bucket, each of which returns when it is done: for what may not go on before. */
export type WaitingStore = {
  [name in Operation]: (...given: Parameters<Bucket[name]>) => Awaited<ReturnType<Bucket[name]>>;
} & { close(): Promise<void> };

/** What the thread is given at its start. */
export type StoreTask = { destination: Destination; retry: Settings['retry']; port: MessagePort; done: Int32Array };
/** What the thread is asked, and answers. */
export type StoreQuestion = { [name in Operation]: [name, ...Parameters<Bucket[name]>] }[Operation];
export type StoreAnswer =
  | { result: unknown }
  | { refused: { message: string } & { [name in keyof ErrorDetail]?: ErrorDetail[name] | undefined } };

/** All other work stands still so long at most. Others see a holder that is silent for longer as gone. */
const waitMs = 25_000;
const retry = { attemptsMax: 4, totalMs: 10_000, delayBaseMs: 200, delayMaxMs: 2_000, retryAfterMaxMs: 2_000 };

/** Asks a bucket through a thread of its own, which is started by the first call. Calls throw as those of `Bucket`. */
export function waitingStore(destination: Destination): WaitingStore {
  let thread: { worker: Worker; port: MessagePort; done: Int32Array } | undefined;
  const start = (): NonNullable<typeof thread> => {
    const { port1, port2 } = new MessageChannel();
    const done = new Int32Array(new SharedArrayBuffer(4));
    const task: StoreTask = { destination, retry, port: port2, done };
    const worker = new Worker(new URL('./store-thread.ts', import.meta.url), {
      workerData: task,
      transferList: [port2],
    });
    worker.unref();
    return { worker, port: port1, done };
  };
  const stop = async (): Promise<void> => {
    const stopped = thread;
    thread = undefined;
    stopped?.port.close();
    await stopped?.worker.terminate();
  };
  const ask = (...question: StoreQuestion): unknown => {
    thread ??= start();
    const { worker, port, done } = thread;
    Atomics.store(done, 0, 0);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage(question);
    Atomics.wait(done, 0, 0, waitMs);
    const received = receiveMessageOnPort(port);
    if (!received) {
      void stop();
      throw new AppError(`the store of ${destination.location} does not answer within ${waitMs / 1000} s`, {
        code: 'unreachable',
        hint: 'see that the address is right and the store runs',
        retryable: true,
      });
    }
    const answer = received.message as StoreAnswer;
    if ('result' in answer) return answer.result;
    const { message, ...detail } = answer.refused;
    throw new AppError(message, detail as ErrorDetail);
  };
  return {
    describe: (...given) => ask('describe', ...given) as ReturnType<WaitingStore['describe']>,
    fetch: (...given) => ask('fetch', ...given) as ReturnType<WaitingStore['fetch']>,
    pathsAfter: (...given) => ask('pathsAfter', ...given) as ReturnType<WaitingStore['pathsAfter']>,
    put: (...given) => ask('put', ...given) as ReturnType<WaitingStore['put']>,
    close: stop,
  };
}
