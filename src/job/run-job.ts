import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { explainStorageError } from '../core/storage-error.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { SetAttributes } from '../log/tracer.ts';
import type { Database } from '../mirror/database.ts';
import { finishRun, refuseStaleHolder, startRun, type RunOutcome } from '../mirror/runs.ts';
import { boundFiles } from './bound-files.ts';
import type { JobContext } from './job-context.ts';
import { acquireLease, type Lease } from './lease.ts';
import { refuseLostLedger } from './lost-ledger.ts';

/** What a job did: `counts` has no personal data; `reason` is the code of what was found and has to be mended. */
export type JobResult = { outcome: 'done' | 'incomplete' | 'held'; counts: object; reason?: string };

const lookEveryMs = 1_000;

/** What changes what readers find. Drafts lie in a folder of their own. */
const changingFiles = [
  'addSnapshot',
  'addParts',
  'writeFile',
  'writeManifest',
  'writeCurrent',
  'removeFiles',
  'removeSnapshots',
] as const;

/**
 * Runs a job under the lease of the data folder and records the run, however it ends. Rejects with what the job
 * rejects with. The context given to the job is its own: its signal is aborted too when the lease is lost, and its ledger
 * is opened once.
 */
export async function runJob<Context extends JobContext, Result extends JobResult>(
  context: Context,
  job: string,
  work: (context: Context) => Promise<Result>,
): Promise<Result> {
  const { db, signal, tracer } = context;
  const lost = new AbortController();
  const lease = await takeLease(context, job, (error) => lost.abort(error));
  let ledger: Ledger | undefined;
  let sizeBefore = 0;
  const held = (opened: Ledger): Ledger => {
    refuseLostLedger(context.settings.dataDir, opened);
    sizeBefore = opened.size();
    return whileHeld(opened, db, ['append', 'checkpoint', 'rotateKey']);
  };
  const openLedgerOnce = (): Ledger => (ledger ??= held(context.ledger()));
  const published = whileHeld(context.published, db, changingFiles);
  const own = {
    ...context,
    signal: AbortSignal.any([signal, lost.signal]),
    ledger: openLedgerOnce,
    published: boundFiles(published, openLedgerOnce),
  };
  const about = { kind: 'internal', attributes: { 'analytics_mirror.job': job } } as const;
  const commit = async (): Promise<void> => {
    const { settings, clock, state } = context;
    const isDue = clock.now() - (state?.committedMs() ?? 0) >= settings.cluster.commitMinutes * 60_000;
    if (isDue || (ledger && ledger.size() > sizeBefore)) await state?.commit(db);
  };
  try {
    const result = await tracer
      .span(`run ${job}`, about, (set) =>
        recordRun(own, job, set, async () => {
          if (context.openLedger) ledger = held(await context.openLedger(own.signal));
          const result = await work(own).catch((error: unknown) => {
            try {
              signGrown(ledger);
            } catch {
              // The first error is the one to report; the next run signs.
            }
            throw error;
          });
          signGrown(ledger);
          return result;
        }),
      )
      .catch(async (error: unknown) => {
        // The first error is the one to report; the next run commits.
        await commit().catch(() => undefined);
        throw error;
      });
    // The bucket has what was done before the caller learns of it.
    await commit();
    return result;
  } finally {
    lease.release();
  }
}

/** Takes the lease; looks again each second while another run has it, where the context says so. */
async function takeLease(
  { db, clock, signal, wait }: JobContext,
  job: string,
  onLost: (error: unknown) => void,
): Promise<Lease> {
  for (;;) {
    try {
      return acquireLease(db, job, clock, onLost);
    } catch (error) {
      if (wait !== true || !(error instanceof AppError) || error.code !== 'busy') throw error;
    }
    await clock.sleep(lookEveryMs, signal);
  }
}

/** Signs a ledger that has grown, in this run or in one that was killed: anyone may have written what is not signed. */
function signGrown(ledger: Ledger | undefined): void {
  if (ledger && ledger.size() > ledger.signed()) ledger.checkpoint();
}

/** A thing whose methods of these names throw `busy` where the lease is lost: a run that was silent for long may have lost it. */
function whileHeld<T extends object>(thing: T, db: Database, writing: readonly (keyof T)[]): T {
  const guarded = writing.map((name) => [
    name,
    (...args: unknown[]): unknown => {
      refuseStaleHolder(db);
      return Reflect.apply(thing[name] as () => unknown, thing, args);
    },
  ]);
  return { ...thing, ...Object.fromEntries(guarded) };
}

async function recordRun<Result extends JobResult>(
  { db, clock, log, service }: JobContext,
  job: string,
  set: SetAttributes,
  work: () => Promise<Result>,
): Promise<Result> {
  const startedMs = clock.now();
  const id = startRun(db, job, isoTime(startedMs));
  const requestCount = (): number => service?.requestCount() ?? 0;
  const requestsBefore = requestCount();
  log.info({ job, run: id }, 'run started');
  const finish = (outcome: RunOutcome, reason: string | null, counts: object): void => {
    const requests = requestCount() - requestsBefore;
    set({ 'analytics_mirror.outcome': outcome, 'analytics_mirror.requests': requests });
    finishRun(db, { id, outcome, reason, requests, counts, at: isoTime(clock.now()) });
    const seconds = Math.round((clock.now() - startedMs) / 100) / 10;
    log.info({ job, run: id, outcome, ...(reason === null ? {} : { reason }), requests, seconds }, 'run ended');
  };
  try {
    const result = await work();
    finish(result.outcome, result.reason ?? null, result.counts);
    return result;
  } catch (error) {
    const known = error instanceof AppError ? error : explainStorageError(error, db.name);
    const reason = known?.finding ?? known?.code ?? 'unexpected';
    try {
      finish(reason === 'interrupted' ? 'interrupted' : 'failed', reason, {});
    } catch {
      // The first error is the one to report; the next run records this one as dead.
    }
    throw error;
  }
}
