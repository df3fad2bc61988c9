import type { Clock } from '../core/clock.ts';
import type { Store } from './store/store.ts';

/** The service's own clock: it runs with the clock it was given, and can be moved forward. */
export type SandboxClock = {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /**
   * Moves to a time at or after now and runs the weekly batches that are due then; returns their times in
   * milliseconds. For an earlier time it stays and returns undefined.
   */
  moveTo(timeMs: number): number[] | undefined;
};

/** A clock over `base` which the settings remember how far it was moved ahead of. */
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
