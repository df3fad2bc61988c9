import PQueue from 'p-queue';
import type { Clock } from '../core/clock.ts';
import { timesKept, waitMsUntilFree, type RateWindow } from './rate-limit.ts';

/** Lets requests start only as fast and as many at once as the service allows. */
export type Budget = {
  /** Runs a request when its turn comes. Rejects with the signal's reason when aborted while waiting. */
  run<T>(request: () => Promise<T>, lane: Lane, signal?: AbortSignal): Promise<T>;
};

/** The list of recordings has limits of its own on top of the general ones. */
export type Lane = 'general' | 'recordings list';

/** What the service allows, from the settings. */
export type BudgetLimits = {
  concurrency: number;
  windows: readonly RateWindow[];
  recordings: { windows: readonly RateWindow[] };
};

/** A budget for one key. Its windows slide: no span of a window's length ever holds more than its requests. */
export function createBudget(limits: BudgetLimits, clock: Clock): Budget {
  const queue = new PQueue({ concurrency: limits.concurrency });
  const takeTurn = createLimiter(limits.windows, clock);
  const takeTurnIn: Record<Lane, TakeTurn> = {
    general: takeTurn,
    'recordings list': createLimiter(limits.recordings.windows, clock, takeTurn),
  };
  return {
    run: (request, lane, signal) =>
      queue.add(
        async () => {
          await takeTurnIn[lane](signal);
          return await request();
        },
        signal ? { signal } : {},
      ),
  };
}

/** Resolves when one more request may start, in the order of the calls. */
type TakeTurn = (signal?: AbortSignal) => Promise<void>;

/** Limits by its own windows, and then by those of `takeOuterTurn`: a start is noted when it has passed both. */
function createLimiter(windows: readonly RateWindow[], clock: Clock, takeOuterTurn?: TakeTurn): TakeTurn {
  const kept = timesKept(windows);
  const times: number[] = [];
  let turn: Promise<void> = Promise.resolve();
  const takeTurn = async (signal: AbortSignal | undefined): Promise<void> => {
    for (;;) {
      signal?.throwIfAborted();
      const waitMs = waitMsUntilFree(times, windows, clock.now());
      if (waitMs <= 0) break;
      await clock.sleep(waitMs, signal);
    }
    await takeOuterTurn?.(signal);
    times.push(clock.now());
    if (times.length > kept) times.shift();
  };
  return (signal) => {
    const mine = turn.then(() => takeTurn(signal));
    turn = mine.catch(() => undefined);
    return mine;
  };
}
