import type { Clock } from '../core/clock.ts';
import type { Store } from './store/store.ts';

/** The sandbox's clock. It runs with the given clock, and can be moved forward. */
export type SandboxClock = {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /**
   * Moves to a time at or after now, and runs the weekly batches that are due then. Returns their times in
   * milliseconds. For an earlier time, the clock stays, and undefined is returned.
   */
  moveTo(timeMs: number): number[] | undefined;
};

/** A clock that is ahead of `base`. The settings remember how far. */
export function sandboxClock(
  base: Pick<Clock, 'now'>,
  settings: Store['settings'],
  runDueDeletions: (nowMs: number) => number[],
): SandboxClock {
  let aheadMs = settings.get('clock_ahead_ms') ?? 0;
  const now = (): number => Math.floor(base.now()) + aheadMs;
  return {
    now,
    moveTo: (timeMs) => {
      const forwardMs = timeMs - now();
      if (forwardMs < 0) return undefined;
      aheadMs += forwardMs;
      settings.set('clock_ahead_ms', aheadMs);
      return runDueDeletions(timeMs);
    },
  };
}
