import PQueue from 'p-queue';
import type { Clock } from '../core/clock.ts';
import { createLimiter, type Limiter } from './limiter.ts';
import type { RateWindow } from './rate-limit.ts';
import type { Lane } from '../contract/datasets.ts';
import { memoryRequestTimes, type RequestTimes } from './request-times.ts';

/** What goes first when not everything may go: the higher. */
const urgency = { deletion: 2, head: 1, full: 0 } as const;
export type Priority = keyof typeof urgency;

/** Which limits a request is under, and how urgent it is. */
export type Turn = { lane: Lane; priority: Priority; signal?: AbortSignal | undefined };

/** Lets requests start only as fast and as many at once as the service allows. */
export type Budget = Pick<Limiter, 'slowDown' | 'left' | 'usedUpUntilMs' | 'forecast'> & {
  /** Runs a request when its turn comes. Rejects with the signal's reason when aborted while waiting. */
  run<T>(request: () => Promise<T>, turn: Turn): Promise<T>;
};

/** What the service allows, from the settings. */
export type BudgetLimits = {
  concurrency: number;
  windows: readonly RateWindow[];
  recordings: { windows: readonly RateWindow[] };
};

/**
 * A budget for one key, shared with all who share the times. Its windows slide: no span of a window's length, as the
 * service sees it, ever holds more than its requests. A request that waits for a window holds no place of those that
 * need not.
 */
export function createBudget(
  { concurrency, windows, recordings }: BudgetLimits,
  clock: Clock,
  openTimes: () => RequestTimes = memoryRequestTimes,
): Budget {
  const limiter = createLimiter(
    { general: windows, 'recordings list': recordings.windows },
    clock,
    openTimes,
  );
  const underWay = new PQueue({ concurrency });
  // In each lane one request waits for the windows, and the others behind it, the most urgent first.
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
