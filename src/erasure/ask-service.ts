import { type Service, askForProject } from '../client/service.ts';
import { AppError } from '../core/errors.ts';
import { isoTime } from '../core/clock.ts';
import { isAgreed, presentOf } from '../core/present.ts';
import type { JobContext } from '../job/job-context.ts';
import { beginWaitsAnew, noteServiceClock } from '../mirror/service-clock.ts';

// The erasure here must not wait as long as retries would wait for a service that is down.
const patienceMs = 60_000;

/**
 * The answer to a question; null when the service does not answer in a minute, or refuses to: then `onFailure` hears why. Throws the
 * signal's reason, and what is no error of the service.
 */
export async function askPatiently<Context extends { signal: AbortSignal }, T>(
  context: Context,
  service: Service,
  question: (context: Context, service: Service) => Promise<T>,
  onFailure: (error: unknown) => void = () => undefined,
): Promise<T | null> {
  const patience = AbortSignal.timeout(patienceMs);
  try {
    return await question({ ...context, signal: AbortSignal.any([context.signal, patience]) }, service);
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof AppError) && !patience.aborted) throw error;
    onFailure(error);
    return null;
  }
}

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
