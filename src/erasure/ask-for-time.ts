import { askForProject } from '../client/service.ts';
import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { isAgreed, presentOf } from '../core/present.ts';
import type { JobContext } from '../job/job-context.ts';
import { beginWaitsAnew, noteServiceClock } from '../mirror/service-clock.ts';

/**
 * Asks the service for its time, and brings in line with it what an earlier run has set by a clock that was wrong. Without an
 * answer nothing is changed, and no time is over for good in this run.
 */
export async function askForTime(context: JobContext): Promise<void> {
  const { db, service, clock, signal } = context;
  if (service === null) return;
  await askForProject(service, 'persons', signal).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code === 'interrupted') throw error;
  });
  const present = presentOf(context);
  if (present.aheadMs === null) return;
  noteServiceClock(db, present, isoTime(clock.now()));
  beginWaitsAnew(db, isoTime(present.latestMs), isAgreed(present.aheadMs) ? isoTime(present.earliestMs) : null);
}
