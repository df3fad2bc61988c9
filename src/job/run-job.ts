import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { refuseFewFiles } from '../core/folder.ts';
import { apartMaxMs, presentOf } from '../core/present.ts';
import { explainStorageError } from '../core/storage-error.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { SetAttributes } from '../log/tracer.ts';
import type { LeaseHolder } from '../mirror/lease-rows.ts';
import { finishRun, startRun, type RunOutcome } from '../mirror/runs.ts';
import { noteServiceClock } from '../mirror/service-clock.ts';
import { boundFiles } from './bound-files.ts';
import type { JobContext } from './job-context.ts';
import { waitForLease, type Lease } from './lease.ts';
import { removeLeftDrills } from './left-drills.ts';
import { refuseLostLedger } from './lost-ledger.ts';
import { refuseOtherLedger } from './other-ledger.ts';
import { isGuest } from './turn-plan.ts';
import type { Histories } from '../ledger/histories.ts';
import { refuseReplaced, type Database } from '../mirror/database.ts';
import { listRequests } from '../mirror/erasure-requests.ts';

/** What a job did: `counts` has no personal data; `reason` is the code of what was found and has to be mended. */
export type JobResult = { outcome: 'done' | 'incomplete' | 'held'; counts: object; reason?: string };

/** So long a guest waits for its turn: a pass gives way between two pages, and a page takes seconds. */
const guestWaitMs = 60_000;

/**
 * Runs a job under the lease of the data folder and records the run, however it ends. Rejects with what the job
 * rejects with. What a killed drill has left is removed. The context given to the job is its own: its ledger is opened once, and
 * once more each time that the job has given way (`turn`).
 */
export async function runJob<Context extends JobContext, Result extends JobResult>(
  context: Context,
  job: string,
  work: (context: Context) => Promise<Result>,
): Promise<Result> {
  const { db, tracer } = context;
  // Where few files may be open, Node and its packages fail in odd ways, or hang.
  refuseFewFiles();
  const lease = await takeLease(context, job);
  const ledger = ledgerOfRun(context);
  const away: Away = { times: 0, ms: 0, requests: 0 };
  const own = {
    ...context,
    ledger: ledger.open,
    published: boundFiles(context.published, ledger.open),
    turn: { isWanted: lease.isWanted, giveWay: () => giveWay(context, { job, lease, ledger, away }) },
  };
  const about = { kind: 'internal', attributes: { 'analytics_mirror.job': job } } as const;
  const commit = async (): Promise<void> => {
    const { remote } = context;
    if (remote && lease.isHeld() && (remote.isCommitDue(db) || ledger.hasGrown())) await remote.commit(db);
  };
  try {
    const result = await tracer
      .span(`run ${job}`, about, (set) =>
        recordRun(own, { job, set, away }, async () => {
          removeLeftDrills(context.settings.dataDir);
          await ledger.openFirst();
          const givenUp = givenUpUntold(db, ledger.open());
          const result = await besideOthers(own, { lease, ledger }, () => work(own)).catch((error: unknown) => {
            try {
              ledger.sign();
            } catch {
              // The first error is the one to report; the next run signs.
            }
            throw error;
          });
          ledger.sign();
          return givenUp.length === 0 ? result : toldOf(givenUp, result, context);
        }),
      )
      .catch(async (error: unknown) => {
        // The first error is the one to report; the next run commits.
        await commit().catch(() => undefined);
        throw error;
      });
    // Other machines can have what was done before the caller learns of it.
    await commit();
    return result;
  } finally {
    lease.release();
  }
}

/** The runs whose work goes on in this process, each with whether it has the lease and its ledger open now. */
const present = new Map<JobContext, () => boolean>();

async function besideOthers<T>(
  own: JobContext,
  { lease, ledger }: { lease: Lease; ledger: RunLedger },
  work: () => Promise<T>,
): Promise<T> {
  present.set(own, () => lease.isHeld() && ledger.isOpen());
  try {
    return await work();
  } finally {
    present.delete(own);
  }
}

/**
 * The context of a run of this process that has the lease of this mirror and is between two of its steps: what is done at once, without
 * an await, is done under its lease. Undefined where there is none, or it is within a long transaction.
 */
export function presentRun(db: JobContext['db']): JobContext | undefined {
  if (db.inTransaction) return undefined;
  return [...present].find(([own, isReady]) => own.db === db && isReady())?.[0];
}

/** Tells of requests that a run before this one has given up, and was killed. What is done is held then. */
function toldOf<Result extends JobResult>(requests: string[], result: Result, { log }: JobContext): Result {
  log.warn({ requests }, 'a run that was killed gave these requests up; add them again');
  return { ...result, outcome: result.outcome === 'done' ? 'held' : result.outcome };
}

/** Takes the lease. A guest or a drill waits for a bounded time, any run as long as it takes where the context says so. */
function takeLease({ db, clock, signal, wait, log }: JobContext, job: string): Promise<Lease> {
  const waitMs = wait === true ? Infinity : isGuest(job) || job === 'drill' ? guestWaitMs : 0;
  const onWait = (present: LeaseHolder): void => {
    const seconds = waitMs === Infinity ? {} : { atMostSeconds: waitMs / 1000 };
    log.info(
      { job, for: present.job, process: present.pid, since: present.takenAt, ...seconds },
      'waiting for another run',
    );
  };
  return waitForLease(db, { job, clock, signal, untilMs: clock.now() + waitMs, onWait });
}

/** How often and for how long a run has given way, and how many requests others of this process have made meanwhile. */
type Away = { times: number; ms: number; requests: number };

/** Leaves the data folder to the guests who wait. What others have appended to the ledger meanwhile is read afterwards. */
async function giveWay(
  { clock, log, signal, service }: JobContext,
  { job, lease, ledger, away }: { job: string; lease: Lease; ledger: RunLedger; away: Away },
): Promise<void> {
  ledger.close();
  const requestCount = (): number => service?.requestCount() ?? 0;
  const [leftAtMs, requestsBefore] = [clock.now(), requestCount()];
  log.info({ job }, 'run gives way');
  try {
    await lease.giveWay(signal);
  } finally {
    away.times += 1;
    away.ms += Math.max(0, clock.now() - leftAtMs);
    away.requests += requestCount() - requestsBefore;
  }
  log.info({ job, seconds: secondsOf(clock.now() - leftAtMs) }, 'run goes on');
  await ledger.openFirst();
}

/** The ledger of a run, opened when it is asked for. */
type RunLedger = {
  open: () => Ledger;
  /** Opens it while other work goes on, where the context can. */
  openFirst: () => Promise<void>;
  sign: () => void;
  hasGrown: () => boolean;
  isOpen: () => boolean;
  /** Signs what was appended, and opens it anew when it is asked for again. */
  close: () => void;
};

function ledgerOfRun({ db, settings, signal, ledger: openNow, openLedger }: JobContext): RunLedger {
  let ledger: Ledger | undefined;
  let sizeBefore = 0;
  let grewBefore = false;
  const begun = (opened: Ledger): Ledger => {
    refuseLostLedger(settings.dataDir, opened);
    refuseOtherLedger(db, opened);
    sizeBefore = opened.size();
    return opened;
  };
  const hasGrown = (): boolean => grewBefore || (ledger !== undefined && ledger.size() > sizeBefore);
  return {
    open: () => (ledger ??= begun(openNow())),
    openFirst: async () => {
      if (openLedger) ledger = begun(await openLedger(signal));
    },
    sign: () => signGrown(ledger),
    hasGrown,
    isOpen: () => ledger !== undefined,
    close: () => {
      signGrown(ledger);
      grewBefore = hasGrown();
      ledger = undefined;
    },
  };
}

/** Signs a ledger that has grown, in this run or in one that was killed: anyone may have written what is not signed. */
function signGrown(ledger: Ledger | undefined): void {
  if (ledger && ledger.size() > ledger.signed()) ledger.checkpoint();
}

function secondsOf(ms: number): number {
  return Math.round(ms / 100) / 10;
}

async function recordRun<Result extends JobResult>(
  { db, clock, log, service }: JobContext,
  { job, set, away }: { job: string; set: SetAttributes; away: Away },
  work: () => Promise<Result>,
): Promise<Result> {
  // A run that has given way goes by what it was told: without it, a wait would be over by this machine's clock alone.
  if (![...present.keys()].some((other) => other.service === service)) service?.forgetTime?.();
  const startedMs = clock.now();
  const id = startRun(db, job, isoTime(startedMs));
  const requestCount = (): number => service?.requestCount() ?? 0;
  const requestsBefore = requestCount();
  log.info({ job, run: id }, 'run started');
  const finish = (outcome: RunOutcome, reason: string | null, counted: object): void => {
    const requests = requestCount() - requestsBefore - away.requests;
    const counts = { ...counted, ...(away.times > 0 ? { gaveWay: away.times, awaySeconds: secondsOf(away.ms) } : {}) };
    set({ 'analytics_mirror.outcome': outcome, 'analytics_mirror.requests': requests });
    const at = isoTime(clock.now());
    const present = presentOf({ clock, service });
    noteServiceClock(db, present, at);
    const { aheadMs } = present;
    if (Math.abs(aheadMs ?? 0) > apartMaxMs)
      log.warn({ aheadMs }, "this machine's clock and the service's are apart: nothing ends because of a time");
    finishRun(db, { id, outcome, reason, requests, counts, at });
    const seconds = secondsOf(clock.now() - startedMs);
    log.info({ job, run: id, outcome, ...(reason === null ? {} : { reason }), requests, seconds }, 'run ended');
  };
  try {
    const result = await work();
    refuseReplaced(db);
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

/**
 * The requests, by id, that are open in the mirror and given up on the ledger: a run that was killed has done it, and told nobody.
 * Those of persons whom the service deleted by itself are left out: nobody asked for them.
 */
function givenUpUntold(db: Database, { histories }: { histories: Pick<Histories, 'of'> }): string[] {
  const isGivenUp = (id: string): boolean => {
    const history = histories.of(id);
    return history?.state === 'cancelled' || (history?.state === 'sealed' && history.reason === 'life_exceeded');
  };
  return listRequests(db, 'open').flatMap(({ id, origin }) => (origin !== 'upstream' && isGivenUp(id) ? [id] : []));
}
