import { AppError } from '../core/errors.ts';
import type { JobContext, Part } from './job-context.ts';

/** While a step takes longer than this, its end is not awaited before the run gives way. Others wait for a minute. */
const patienceMs = 20_000;
const lookEveryMs = 1_000;

/**
 * Does work that can be stopped and taken up again. It gives way to those who wait after each step, and in the middle of a step
 * that takes long: a request may wait for the budget for an hour. Before it goes on, `refuse` looks whether it may, and throws
 * where not. After a part without a step the next one is stopped later, so that each step ends at some time.
 */
export async function inTurns<T>(
  { turn, clock, signal }: Pick<JobContext, 'turn' | 'clock' | 'signal'>,
  refuse: () => Promise<void>,
  work: (part: Part) => Promise<T>,
): Promise<T> {
  let stoodStillSinceMs: number | undefined;
  let waitMs = patienceMs;
  for (;;) {
    const stop = new AbortController();
    const gaveWay = new AppError('another job waits for the data folder', { code: 'interrupted' });
    const giveWayIfWanted = (): void => {
      if (turn?.isWanted() === true) stop.abort(gaveWay);
    };
    let stepBeganMs = clock.now();
    let steps = 0;
    const onStep = (): void => {
      steps += 1;
      stepBeganMs = clock.now();
      giveWayIfWanted();
    };
    const timer = setInterval(() => {
      // Also where the clock was set back: else others would wait until it has caught up.
      if (Math.abs(clock.now() - stepBeganMs) >= waitMs) giveWayIfWanted();
    }, lookEveryMs);
    try {
      return await work({ signal: AbortSignal.any([signal, stop.signal]), onStep, stoodStillSinceMs });
    } catch (error) {
      if (error !== gaveWay || turn === undefined) throw error;
    } finally {
      clearInterval(timer);
    }
    waitMs = steps > 0 ? patienceMs : 2 * waitMs;
    stoodStillSinceMs = clock.now();
    await turn.giveWay();
    await refuse();
  }
}
