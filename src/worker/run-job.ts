import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { explainStorageError } from '../core/storage-error.ts';
import { silentTracer, type SetAttributes } from '../log/tracer.ts';
import { finishRun, startRun, type RunOutcome } from '../mirror/runs.ts';
import type { JobSurroundings } from './job-parts.ts';
import { acquireLease } from './lease.ts';

/**
 * What a job did: `counts` holds numbers and names of datasets, never personal data. `reason` is a code, where something
 * was found that has to be mended.
 */
export type JobResult = { outcome: 'done' | 'incomplete' | 'held'; counts: object; reason?: string };

/** What running a job needs. `requestCount` tells the requests sent so far. */
type JobParts = Omit<JobSurroundings, 'settings'> & { job: string; requestCount: () => number };

/**
 * Runs a job under the lease of the data folder and records the run, however it ends. Rejects with what the job
 * rejects with; the signal given to the job is aborted too when the lease is lost.
 */
export async function runJob<T extends JobResult>(
  parts: JobParts,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { job, db, clock, signal, tracer = silentTracer } = parts;
  const lost = new AbortController();
  const lease = acquireLease(db, job, clock, (error) => lost.abort(error));
  const about = { kind: 'internal', attributes: { 'analytics_mirror.job': job } } as const;
  try {
    return await tracer.span(`run ${job}`, about, (set) =>
      recordRun(parts, set, () => work(AbortSignal.any([signal, lost.signal]))),
    );
  } finally {
    lease.release();
  }
}

async function recordRun<T extends JobResult>(
  { job, db, clock, log, requestCount }: JobParts,
  set: SetAttributes,
  work: () => Promise<T>,
): Promise<T> {
  const id = startRun(db, job, isoTime(clock.now()));
  const requestsBefore = requestCount();
  log.info({ job, run: id }, 'run started');
  const finish = (outcome: RunOutcome, reason: string | null, counts: object): void => {
    const requests = requestCount() - requestsBefore;
    set({ 'analytics_mirror.outcome': outcome, 'analytics_mirror.requests': requests });
    finishRun(db, { id, outcome, reason, requests, counts, at: isoTime(clock.now()) });
    log.info({ job, run: id, outcome, ...(reason === null ? {} : { reason }), requests }, 'run ended');
  };
  try {
    const result = await work();
    finish(result.outcome, result.reason ?? null, result.counts);
    return result;
  } catch (error) {
    const known = error instanceof AppError ? error : explainStorageError(error, db.name);
    const reason = known?.code ?? 'unexpected';
    try {
      finish(reason === 'interrupted' ? 'interrupted' : 'failed', reason, {});
    } catch {
      // The first error is the one to report; whoever runs next records this run as dead.
    }
    throw error;
  }
}
