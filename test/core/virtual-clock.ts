import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../src/core/clock.ts';

type Sleeper = { atMs: number; wake: () => void };

/** A clock that only moves when `settle` moves it: from one sleeper's waking to the next. */
export type VirtualClock = Clock & {
  /** Every sleep asked for so far, in milliseconds. */
  sleeps: readonly number[];
  /** How many sleep now. */
  sleeping(): number;
  /** Moves on until the promise is settled. Rejects as it does, and when nothing could settle it any more. */
  settle<T>(promise: Promise<T>): Promise<T>;
  /** Sets the clock, also back, as somebody may set a machine's. Nobody is woken. */
  setTo(ms: number): void;
  /** Lets everything run that needs no time. */
  turn(): Promise<void>;
};

/** A clock that stands at `startMs`. */
export function virtualClock(startMs = 0): VirtualClock {
  let nowMs = startMs;
  const sleepers: Sleeper[] = [];
  const sleeps: number[] = [];
  const wakeNext = (): boolean => {
    const earliest = Math.min(...sleepers.map(({ atMs }) => atMs));
    const index = sleepers.findIndex(({ atMs }) => atMs === earliest);
    const [sleeper] = index === -1 ? [] : sleepers.splice(index, 1);
    if (!sleeper) return false;
    nowMs = Math.max(nowMs, sleeper.atMs);
    sleeper.wake();
    return true;
  };
  return {
    sleeps,
    sleeping: () => sleepers.length,
    now: () => nowMs,
    sleep: (ms, signal) => {
      sleeps.push(ms);
      return new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const sleeper = { atMs: nowMs + ms, wake: resolve };
        sleepers.push(sleeper);
        signal?.addEventListener('abort', () => {
          const index = sleepers.indexOf(sleeper);
          if (index !== -1) sleepers.splice(index, 1);
          reject(signal.reason as Error);
        });
      });
    },
    setTo: (ms) => {
      nowMs = ms;
    },
    turn: async () => {
      await turn();
    },
    settle: async (promise) => {
      const state = { isSettled: false };
      const end = (): void => void (state.isSettled = true);
      promise.then(end, end);
      await turn();
      while (!state.isSettled) {
        if (!wakeNext()) throw new Error('nothing is left to wait for');
        await turn();
      }
      return promise;
    },
  };
}
