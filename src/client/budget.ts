import PQueue from 'p-queue';
import type { Clock } from '../core/clock.ts';
import { createLimiter, type Limiter } from './limiter.ts';
import type { RateWindow } from './rate-limit.ts';
import type { Lane } from '../contract/datasets.ts';
import { memoryRequestTimes, type RequestTimes } from './request-times.ts';

/** Which request starts first when not all may start: the one with the higher number. */
const urgency = { deletion: 2, head: 1, full: 0 } as const;
export type Priority = keyof typeof urgency;

/** Which limits apply to a request, and how urgent it is. */
export type Turn = { lane: Lane; priority: Priority; signal?: AbortSignal | undefined };

/** Starts requests no faster than the service allows, and no more at once. */
export type Budget = Pick<Limiter, 'slowDown' | 'left' | 'usedUpUntilMs' | 'forecast'> & {
  /** Runs a request when its turn comes. If the signal is aborted before, rejects with the signal's reason. */
  run<T>(request: () => Promise<T>, turn: Turn): Promise<T>;
};

/** What the service allows, from the settings. */
export type BudgetLimits = {
  concurrency: number;
  windows: readonly RateWindow[];
  recordings: { windows: readonly RateWindow[] };
};

/**
 * The budget of one API key, shared by all processes that share the request times. Its windows slide: the service
 * never sees more requests in any span of a window's length than the window allows. A request that waits for a window
 * does not count as under way.
 */
export function createBudget(
  { concurrency, windows, recordings }: BudgetLimits,
  clock: Clock,
  openTimes: () => RequestTimes = memoryRequestTimes,
): Budget {
  const limiter = createLimiter({ general: windows, 'recordings list': recordings.windows }, clock, openTimes);
  const underWay = new PQueue({ concurrency });
  // In each lane one request waits for the windows. The others wait behind it, the most urgent first.
  const gates: Record<Lane, PQueue> = {
    general: new PQueue({ concurrency: 1 }),
    'recordings list': new PQueue({ concurrency: 1 }),
  };
  const begin = async (lane: Lane, signal: AbortSignal | undefined): Promise<() => void> => {
    await underWay.onSizeLessThan(1);
    for (;;) {
      signal?.throwIfAborted();
      const begun = limiter.tryToBegin(lane);
      if (typeof begun === 'function') return begun;
      await clock.sleep(begun, signal);
    }
  };
  return {
    ...limiter,
    run: async (request, { lane, priority, signal }) => {
      const options = { priority: urgency[priority], ...(signal ? { signal } : {}) };
      const end = await gates[lane].add(() => begin(lane, signal), options);
      try {
        return await underWay.add(request, options);
      } finally {
        end();
      }
    },
  };
}
