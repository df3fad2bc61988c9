import process from 'node:process';
import { workerData, type MessagePort } from 'node:worker_threads';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../core/errors.ts';
import { openClusterDatabase } from './cluster-database.ts';
import { keepProjects, liveFurther, type HeldRow, type HeldToken, type LiveWorker } from './holding-rows.ts';
import type { ClusterTiming } from './timing.ts';

/** What the thread is given. */
export type BeatTask = { address: string; timing: ClusterTiming; port: MessagePort; worker: LiveWorker };

/** A message to the thread: keep a holding, let it go, or say that a worker lives. */
export type ToBeat = { keep: HeldRow } | { drop: string } | { live: true };

/**
 * A message from the thread: what a beat has found that began at `beganNs`, by the steady clock of the process. It says something of the
 * holdings that it names and of no other: those that are kept, and those that another machine has now.
 */
export type FromBeat = { beganNs: bigint; kept: HeldToken[]; lost: HeldToken[] };

// The thread that keeps what this process holds. Nothing that a job computes holds it up.
const { address, timing, port, worker } = workerData as BeatTask;
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
  const beganNs = process.hrtime.bigint();
  const named = [...held.values()];
  const lost = await keepProjects(database, named, worker, timing.leaseMs);
  const kept = named.filter((each) => !lost.includes(each));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  port.postMessage({ beganNs, kept, lost } satisfies FromBeat);
  if (isLive) await liveFurther(database, worker, timing.leaseMs);
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
