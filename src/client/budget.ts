import PQueue from 'p-queue';
import type { Clock } from '../core/clock.ts';
import { createLimiter, type Limiter } from './limiter.ts';
import type { RateWindow } from './rate-limit.ts';
import type { Lane } from '../contract/datasets.ts';
import { type EndRequest, memoryRequestTimes, type Kept, type RequestTimes } from './request-times.ts';

/** Which request starts first when not all may start: the one with the higher number. */
const urgency = { deletion: 2, head: 1, full: 0 } as const;
export type Priority = keyof typeof urgency;

/** Which limits apply to a request, and how urgent it is. */
export type Turn = { lane: Lane; priority: Priority; signal?: AbortSignal | undefined };

/** Starts requests no faster than the service allows, and no more at once. */
export type Budget = Omit<Limiter, 'tryToBegin'> & {
  /**
   * Runs a request when its turn comes. If the signal is aborted before, rejects with the signal's reason. A request asks
   * `isLate` as it goes out, and throws `Late` where it is: it takes another turn.
   */
  run<T>(request: (isLate: () => boolean) => Promise<T>, turn: Turn): Promise<T>;
};

/** What the service allows, from the settings. */
export type BudgetLimits = {
  concurrency: number;
  windows: readonly RateWindow[];
  /** How far the general window of this length may be raised while no 429 comes; null: not at all. */
  learnUpTo?: RateWindow | null;
  recordings: { windows: readonly RateWindow[] };
};

/**
 * The budget of one API key, shared by all processes that share the request times. Its windows slide: the service
 * never sees more requests in any span of a window's length than the window allows. A request that waits for a window
 * does not count as under way.
 */
export function createBudget(
  { concurrency, windows, learnUpTo, recordings }: BudgetLimits,
  clock: Clock,
  openTimes: (clock: Clock, kept: Kept) => RequestTimes = memoryRequestTimes,
  onLongWait: (waitMs: number) => void = () => undefined,
): Budget {
  const limiter = createLimiter(
    { general: windows, 'recordings list': recordings.windows },
    learnUpTo ?? null,
    clock,
    openTimes,
  );
  const underWay = new PQueue({ concurrency });
  // In each lane one request waits for the windows. The others wait behind it, the most urgent first.
  const gates: Record<Lane, PQueue> = {
    general: new PQueue({ concurrency: 1 }),
    'recordings list': new PQueue({ concurrency: 1 }),
  };
  const begin = async (lane: Lane, signal: AbortSignal | undefined): Promise<Begun> => {
    await underWay.onSizeLessThan(1);
    for (;;) {
      signal?.throwIfAborted();
      const askedAtMs = clock.now();
      const begun = await limiter.tryToBegin(lane);
      if (typeof begun === 'number') {
        if (begun >= longWaitMs) onLongWait(begun);
        await clock.sleep(begun, signal);
      } else if (signal?.aborted) await begun();
      else return { end: begun, byMs: askedAtMs + startsWithinMs };
    }
  };
  return {
    ...limiter,
    run: async <T>(request: (isLate: () => boolean) => Promise<T>, { lane, priority, signal }: Turn): Promise<T> => {
      const options = { priority: urgency[priority], ...(signal ? { signal } : {}) };
      for (;;) {
        const { end, byMs } = await gates[lane].add(() => begin(lane, signal), options);
        const isLate = (): boolean => clock.now() > byMs;
        try {
          return await underWay.add(async () => {
            if (isLate()) throw new Late();
            return await request(isLate);
          }, options);
        } catch (error) {
          if (!(error instanceof Late)) throw error;
        } finally {
          await end();
        }
      }
    },
  };
}

/** A request was not sent, because its turn was over: its process was stopped for a while before. */
export class Late extends Error {}

/** The log names a wait for the budget from this length on. */
const longWaitMs = 10_000;

/** A request that may start, and by when: the times of others count on it. */
type Begun = { end: EndRequest; byMs: number };

/**
 * A request goes out so soon after it was allowed to, or takes another turn: a process may be stopped in between for longer than
 * its place in the windows is kept.
 */
export const startsWithinMs = 10_000;
