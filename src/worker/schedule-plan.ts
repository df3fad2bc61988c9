import type { Ticks } from '../config/cron.ts';
import { scheduledJobs, type ScheduledJob } from '../config/settings.ts';
import { isoTime } from '../core/clock.ts';
import type { JobState } from '../job/worker-state.ts';
import type { Run, RunOutcome } from '../mirror/runs.ts';

/** A job's history, as far as its next run depends on it. Times are milliseconds since 1970, of the machine's clock. */
export type JobHistory = {
  /** When the newest run began, and its outcome; null before the first. */
  lastStartMs: number | null;
  lastOutcome: RunOutcome | 'running' | null;
  lastReason: string | null;
  /** When the newest run ended; null while it is under way. */
  lastEndMs: number | null;
  /** When the newest settled run began (`done`, `incomplete` or `held`). The job then waits for its next tick. */
  settledMs: number | null;
  /** The damage that the newest settled run found, as a code; null where it found none. */
  settledReason: string | null;
  /** When the newest run began that left the data fresh: `done` or `held`. */
  successMs: number | null;
  /** Runs in a row, up to the newest, that failed or died. */
  failures: number;
  /** The reason of the newest of them, and when the first run in a row that failed for it began; null if none. */
  failing: { reason: string; sinceMs: number } | null;
};

/** Before the first run. */
export const noHistory: JobHistory = {
  lastStartMs: null,
  lastOutcome: null,
  lastReason: null,
  lastEndMs: null,
  settledMs: null,
  settledReason: null,
  successMs: null,
  failures: 0,
  failing: null,
};

/** How many runs `historyOf` looks at: the pause is the longest by then, so older failures do not change it. */
export const runsLookedAt = 50;

/** The history of a job from its newest runs, newest first; and, however old, its newest that was `done` or `held`, and its newest settled one. */
export function historyOf(
  runs: readonly Run[],
  lastSuccess: Run | undefined,
  lastSettled: Run | undefined = lastSuccess,
): JobHistory {
  const [newest] = runs;
  if (!newest) return noHistory;
  // A run that found the folder busy, or that a signal ended, has not failed.
  const judged = runs.filter((run) => isSettled(run) || isFailure(run));
  const settledAt = judged.findIndex(isSettled);
  const settled = judged[settledAt] ?? lastSettled;
  const failed = settledAt === -1 ? judged : judged.slice(0, settledAt);
  return {
    lastStartMs: Date.parse(newest.startedAt),
    lastOutcome: newest.outcome ?? 'running',
    lastReason: newest.reason,
    lastEndMs: newest.finishedAt === null ? null : Date.parse(newest.finishedAt),
    settledMs: msOf(settled),
    settledReason: settled?.reason ?? null,
    successMs: msOf(lastSuccess),
    failures: failed.length,
    failing: failingOf(failed),
  };
}

/** Of runs in a row that failed, newest first. */
function failingOf(failed: readonly Run[]): JobHistory['failing'] {
  const reason = failed[0]?.reason ?? null;
  const other = failed.findIndex((run) => run.reason !== reason);
  const first = failed.at(other === -1 ? -1 : other - 1);
  return reason === null || !first ? null : { reason, sinceMs: Date.parse(first.startedAt) };
}

function isSettled({ outcome }: Run): boolean {
  return outcome === 'done' || outcome === 'incomplete' || outcome === 'held';
}

/** A run without an end has died or is under way; the lease tells which when the next run starts. */
function isFailure({ outcome, reason }: Run): boolean {
  return outcome === null || reason === 'died' || (outcome === 'failed' && reason !== 'busy');
}

function msOf(run: Run | undefined): number | null {
  return run === undefined ? null : Date.parse(run.startedAt);
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The first pause after a failure, unless the job ticks more often; and the longest pause, if the job ticks more often. */
const firstPauseMs = 15 * minuteMs;
const longestPauseMs = hourMs;

/** The pause after so many failures in a row: it doubles each time, up to an hour or the job's period if that is longer. */
export function pauseMs(failures: number, periodMs: number): number {
  const first = Math.min(firstPauseMs, periodMs);
  return Math.min(first * 2 ** (failures - 1), Math.max(longestPauseMs, periodMs));
}

/** The time between two ticks around now. Where ticks are uneven, the longer of the present period and the one before. */
export function periodMsAt(ticks: Ticks, nowMs: number): number {
  const last = ticks.atOrBefore(nowMs);
  return Math.max(ticks.after(nowMs) - last, last - ticks.atOrBefore(last - 1));
}

/**
 * When a job is to start; if that is past, the job is due. Missed ticks are made up for by one run, however many there were.
 * After a failure the pause counts and not the ticks. Runs that lie in the future are ignored: a clock was or is wrong.
 */
export function nextStartMs(history: JobHistory, ticks: Ticks, nowMs: number): number {
  const pausedUntilMs = endOfPauseMs(history, ticks, nowMs);
  if (pausedUntilMs !== null) return pausedUntilMs;
  const { settledMs } = history;
  return settledMs === null || settledMs > nowMs ? ticks.atOrBefore(nowMs) : ticks.after(settledMs);
}

function endOfPauseMs(
  { failures, lastReason, lastOutcome, lastEndMs, lastStartMs }: JobHistory,
  ticks: Ticks,
  nowMs: number,
): number | null {
  // One run that died is not counted: the machine may have gone down. Several in a row may be the job's fault.
  const hasDied = lastReason === 'died' || lastOutcome === 'running';
  const counted = hasDied ? failures - 1 : failures;
  const sinceMs = lastEndMs ?? lastStartMs;
  if (counted < 1 || sinceMs === null || sinceMs > nowMs) return null;
  return sinceMs + pauseMs(counted, periodMsAt(ticks, nowMs));
}

/** A scheduled job by its history, at a time in milliseconds since 1970; not whether it runs in this process. */
export function jobStateOf(
  job: ScheduledJob,
  { cron, ticks }: { cron: string; ticks: Ticks },
  history: JobHistory,
  nowMs: number,
): Omit<JobState, 'timesBusy'> {
  const { failing } = history;
  return {
    job,
    cron,
    periodMs: periodMsAt(ticks, nowMs),
    nextAt: isoTime(nextStartMs(history, ticks, nowMs)),
    lastAt: isoOf(history.lastStartMs),
    lastOutcome: history.lastOutcome,
    lastReason: history.lastReason,
    lastSuccessAt: isoOf(history.successMs),
    lastFound: history.settledReason,
    runningSince: null,
    failing: failing && { reason: failing.reason, since: isoTime(failing.sinceMs) },
    consecutiveFailures: history.failures,
  };
}

function isoOf(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}

/** A job, when it is to start, and when it was last started. */
export type PlannedStart = { job: ScheduledJob; atMs: number; servedMs: number };

/** The jobs that are due. The job that has waited longest for its turn is first. */
export function dueJobs(planned: readonly PlannedStart[], nowMs: number): ScheduledJob[] {
  return planned
    .filter(({ atMs }) => atMs <= nowMs)
    .toSorted((a, b) => a.servedMs - b.servedMs || scheduledJobs.indexOf(a.job) - scheduledJobs.indexOf(b.job))
    .map(({ job }) => job);
}

/**
 * A project that waits for its turn: the jobs that are due, since how long, and when it last had a turn. `hasPlace`: one of its jobs is
 * under way and would give way to these.
 */
type Waiting = { isBusy: boolean; hasPlace: boolean; waitedMs: number; servedMs: number; due: readonly ScheduledJob[] };

/** Where passes have all places, a project that has waited so long gets one more, for all but the jobs that can take a day. */
const patienceMs = 10 * minuteMs;
const longJobs: readonly ScheduledJob[] = ['full', 'recordings'];

/** The jobs to start in so many free places: one a project, first the project that has waited longest for a turn. */
export function chooseStarts<T extends Waiting>(projects: readonly T[], places: number): (T & { job: ScheduledJob })[] {
  const ready = projects
    .flatMap((project) => {
      const [job] = project.due;
      return project.isBusy || job === undefined ? [] : [{ ...project, job }];
    })
    .toSorted((a, b) => a.servedMs - b.servedMs);
  const others = ready.filter(({ hasPlace }) => !hasPlace);
  const further = others
    .filter(({ waitedMs }) => waitedMs >= patienceMs)
    .flatMap((project) => {
      const job = project.due.find((each) => !longJobs.includes(each));
      return job === undefined ? [] : [{ ...project, job }];
    });
  const placed = places === 0 ? further.slice(0, 1) : others.slice(0, Math.max(places, 0));
  return [...ready.filter(({ hasPlace }) => hasPlace), ...placed];
}
