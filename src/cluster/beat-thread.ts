import process from 'node:process';
import { workerData, type MessagePort } from 'node:worker_threads';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../core/errors.ts';
import { openClusterDatabase } from './cluster-database.ts';
import { keepProjects, liveFurther, type HeldRow, type LiveWorker } from './holding-rows.ts';
import type { ClusterTiming } from './timing.ts';

/** What the thread is given. `beat`: when the last statement began that reached the database, by the process's steady clock. */
export type BeatTask = {
  address: string;
  timing: ClusterTiming;
  beat: BigInt64Array;
  port: MessagePort;
  worker: LiveWorker;
};

/** A message to the thread: keep a holding, let it go, or say that a worker lives. */
export type ToBeat = { keep: HeldRow } | { drop: string } | { live: true };

/** A message from the thread: another machine has this holding now. */
export type FromBeat = { lost: string; token: number };

// The thread that keeps what this process holds. Nothing that a job computes holds it up.
const { address, timing, beat, port, worker } = workerData as BeatTask;
const held = new Map<string, HeldRow>();
let isLive = false;
const database = openClusterDatabase(address);
port.on('message', (message: ToBeat) => {
  if ('keep' in message) held.set(message.keep.id, message.keep);
  else if ('drop' in message) held.delete(message.drop);
  else isLive = message.live;
});
port.unref();

const beatOnce = async (): Promise<void> => {
  const began = process.hrtime.bigint();
  const lost = await keepProjects(database, [...held.values()], worker, timing.leaseMs);
  if (isLive) await liveFurther(database, worker, timing.leaseMs);
  Atomics.store(beat, 0, began);
  for (const { id, token } of lost)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    port.postMessage({ lost: id, token } satisfies FromBeat);
};

for (;;) {
  try {
    await beatOnce();
  } catch (error) {
    // The next beat tries again. The holder notices for itself how long none has succeeded.
    if (!(error instanceof AppError)) throw error;
  }
  await delay(timing.beatMs);
}
