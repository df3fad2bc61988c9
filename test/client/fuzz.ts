import { performance } from 'node:perf_hooks';
import fc from 'fast-check';
import { openTransport } from '../../src/client/transport.ts';
import type { Database } from '../../src/mirror/database.ts';
import { rawAnswer, type RawAnswer } from './fuzzed-answers.ts';
import { FuzzedDispatcher } from './fuzzed-dispatcher.ts';
import { fuzzedService, limits, prepareAsk } from './fuzzed-service.ts';
import { openRawServer } from './raw-server.ts';

/** What a run has seen: how often each end, and the longest time that one answer took. */
export type Fuzzed = { answers: number; ends: Record<string, number>; slowestMs: number };

/** How many answers, from which seed, one of how many is large, and through what: no sockets, or real ones. */
export type FuzzPlan = { answers: number; seed: number; largeShare: number; through: 'dispatcher' | 'sockets' };

/**
 * Puts made-up answers through transport, service, reader and mirror. Rejects with a counterexample for an answer that ends in
 * anything but rows, quarantined rows, or an error that names the service's fault and none of its words.
 */
export async function fuzz({ answers, seed, largeShare, through }: FuzzPlan, db: Database): Promise<Fuzzed> {
  const dispatcher = new FuzzedDispatcher();
  const server = through === 'sockets' ? await openRawServer() : undefined;
  const origin = server?.origin ?? 'http://127.0.0.1:9';
  const transport = openTransport(origin, 'key', 4, limits, ...(server ? [] : [dispatcher]));
  const ask = prepareAsk(fuzzedService(transport), db);
  const fuzzed: Fuzzed = { answers: 0, ends: {}, slowestMs: 0 };
  const give = async (answer: RawAnswer): Promise<void> => {
    dispatcher.answer = answer;
    if (server) server.answer = answer;
    const beganMs = performance.now();
    const end = await ask(fuzzed.answers).catch((cause: unknown) => {
      const head = JSON.stringify({ ...answer, body: answer.body.length });
      throw new Error(`turn ${fuzzed.answers}: ${head} ${answer.body.subarray(0, 2000).toString('latin1')}`, { cause });
    });
    const tookMs = performance.now() - beganMs;
    fuzzed.answers += 1;
    fuzzed.ends[end] = (fuzzed.ends[end] ?? 0) + 1;
    fuzzed.slowestMs = Math.max(fuzzed.slowestMs, tookMs);
  };
  try {
    const { failed, errorInstance } = await fc.check(fc.asyncProperty(rawAnswer(largeShare), give), {
      numRuns: answers,
      seed,
      endOnFailure: true,
    });
    if (failed) throw errorInstance;
    return fuzzed;
  } finally {
    await transport.close();
    await server?.close();
  }
}
