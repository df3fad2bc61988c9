import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isoTime, type Clock } from '../core/clock.ts';
import { sha256 } from '../core/digest.ts';
import { AppError, systemCode } from '../core/errors.ts';
import { explainStorageError } from '../core/storage-error.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { SetAttributes } from '../log/tracer.ts';
import type { Database } from '../mirror/database.ts';
import {
  beatLease,
  finishRun,
  readLease,
  releaseLease,
  startRun,
  takeLease,
  type LeaseHolder,
  type RunOutcome,
} from '../mirror/runs.ts';
import { boundFiles } from './bound-files.ts';
import type { JobContext } from './job-context.ts';

/** What a job did: `counts` has no personal data; `reason` is the code of what was found and has to be mended. */
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
  const openLedgerOnce = (): Ledger => (ledger ??= context.ledger());
  const own = {
    ...context,
    signal: AbortSignal.any([signal, lost.signal]),
    ledger: openLedgerOnce,
    published: boundFiles(context.published, openLedgerOnce),
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
    const reason = known?.finding ?? known?.code ?? 'unexpected';
    try {
      finish(reason === 'interrupted' ? 'interrupted' : 'failed', reason, {});
    } catch {
      // The first error is the one to report; the next run records this one as dead.
    }
    throw error;
  }
}

/** A holder that has not beaten for this long is gone. */
const silenceMaxMs = 60_000;
const beatEveryMs = 10_000;

/** The right to write into a data folder, held until released. */
export type Lease = { release(): void };

/**
 * Takes the right to write. Throws `busy` while another living process holds it; one that died without giving it back is
 * told by its process being gone, where its number can be asked for, or by its silence. `onLost` is called once, with the
 * reason, when somebody else takes it over or the mirror can no longer be told that this holder lives.
 */
export function acquireLease(db: Database, job: string, clock: Clock, onLost: (error: unknown) => void): Lease {
  const now = isoTime(clock.now());
  const wanted: LeaseHolder = {
    holder: randomUUID(),
    job,
    host: processSpace(),
    pid: process.pid,
    takenAt: now,
    beatAt: now,
  };
  const present = takeLease(db, wanted, (holder) => isStale(holder, clock.now()));
  if (present.holder !== wanted.holder)
    throw new AppError(
      `another run holds the data folder: ${present.job}, process ${present.pid} on ${present.host}, since ${present.takenAt}`,
      { code: 'busy', hint: 'wait until it ends, or end that process' },
    );
  const timer = setInterval(() => {
    try {
      if (beatLease(db, wanted.holder, isoTime(clock.now()))) return;
      throw new AppError('another run took the data folder over', { code: 'busy', hint: 'run only one at a time' });
    } catch (error) {
      clearInterval(timer);
      onLost(error);
    }
  }, beatEveryMs);
  timer.unref();
  return {
    release: () => {
      clearInterval(timer);
      releaseLease(db, wanted.holder);
    },
  };
}

/**
 * Where this process's number means this process and no other: the name of the machine and, on Linux, a digest of its boot
 * and of the pid namespace. Containers share names, and each has a process 1.
 */
export function processSpace(): string {
  try {
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const pidNamespace = readlinkSync('/proc/self/ns/pid');
    return `${hostname()} (${sha256(`${bootId} ${pidNamespace}`).slice(0, 8)})`;
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    return hostname();
  }
}

/** The present holder where it lives. A process that was killed leaves the lease behind. */
export function livingHolder(db: Database, nowMs: number): LeaseHolder | undefined {
  const present = readLease(db);
  return present && isLiving(present, nowMs) ? present : undefined;
}

function isStale(holder: LeaseHolder, nowMs: number): boolean {
  // This process would not ask for a lease that it holds: its number was an earlier process's.
  return !isLiving(holder, nowMs) || (holder.host === processSpace() && holder.pid === process.pid);
}

function isLiving({ host, pid, beatAt }: LeaseHolder, nowMs: number): boolean {
  // A beat in the future was made by a clock that was wrong: a living holder makes another one within seconds.
  if (Math.abs(nowMs - Date.parse(beatAt)) > silenceMaxMs) return false;
  // Elsewhere, the number says nothing about the holder.
  return host !== processSpace() || isAlive(pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}
