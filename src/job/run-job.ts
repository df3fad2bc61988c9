import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { explainStorageError } from '../core/storage-error.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { SetAttributes } from '../log/tracer.ts';
import { finishRun, startRun, type RunOutcome } from '../mirror/runs.ts';
import type { JobContext } from './job-context.ts';
import { acquireLease } from '../mirror/lease.ts';

/**
 * What a job did: `counts` holds numbers and names of datasets, never personal data. `reason` is a code, where the job
 * found something that has to be mended.
 */
export type JobResult = { outcome: 'done' | 'incomplete' | 'held'; counts: object; reason?: string };

/**
 * Runs a job under the lease of the data folder and records the run, however it ends. Rejects with what the job
 * rejects with. The context given to the job is its own: its signal is aborted too when the lease is lost, and its ledger
 * is opened once, when the job first asks for it.
 */
export async function runJob<Context extends JobContext, Result extends JobResult>(
  context: Context,
  job: string,
  work: (context: Context) => Promise<Result>,
): Promise<Result> {
  const { db, clock, signal, tracer } = context;
  const lost = new AbortController();
  const lease = acquireLease(db, job, clock, (error) => lost.abort(error));
  let ledger: Ledger | undefined;
  const own = {
    ...context,
    signal: AbortSignal.any([signal, lost.signal]),
    ledger: () => (ledger ??= context.ledger()),
  };
  const about = { kind: 'internal', attributes: { 'analytics_mirror.job': job } } as const;
  try {
    return await tracer.span(`run ${job}`, about, (set) => recordRun(own, job, set, () => work(own)));
  } finally {
    lease.release();
  }
}

async function recordRun<Result extends JobResult>(
  { db, clock, log, service }: JobContext,
  job: string,
  set: SetAttributes,
  work: () => Promise<Result>,
): Promise<Result> {
  const id = startRun(db, job, isoTime(clock.now()));
  const requestCount = (): number => service?.requestCount() ?? 0;
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
      // The first error is the one to report; the next run records this one as dead.
    }
    throw error;
  }
}
