import type { Ticks } from '../config/cron.ts';
import { scheduledJobs, type ScheduledJob } from '../config/settings.ts';
import type { Run, RunOutcome } from '../mirror/runs.ts';

/** What a job's runs so far mean for its next one. Times are milliseconds since 1970, of the machine's clock. */
export type JobHistory = {
  /** When the newest run began, and how it stands; null before the first. */
  lastStartMs: number | null;
  lastOutcome: RunOutcome | 'running' | null;
  lastReason: string | null;
  /** When the newest run ended; null while it is under way. */
  lastEndMs: number | null;
  /** When the newest run began that did all it could: `done`, `incomplete` or `held`. It need not be repeated before its time. */
  settledMs: number | null;
  /** What that run found that has to be mended, as a code; null where it found nothing. */
  settledReason: string | null;
  /** When the newest run began that left the data fresh: `done` or `held`. */
  successMs: number | null;
  /** Runs in a row, up to the newest, that failed or died. */
  failures: number;
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
};

/** How many runs `historyOf` looks at: failures beyond them change no pause any more. */
export const runsLookedAt = 50;

/** What a job's newest runs mean, newest first; `lastSuccess` is the newest that was `done` or `held`, however old. */
export function historyOf(runs: readonly Run[], lastSuccess: Run | undefined): JobHistory {
  const [newest] = runs;
  if (!newest) return noHistory;
  // What a command kept from going on, or a signal ended, has not failed.
  const judged = runs.filter((run) => isSettled(run) || isFailure(run));
  const settledAt = judged.findIndex(isSettled);
  return {
    lastStartMs: Date.parse(newest.started_at),
    lastOutcome: newest.outcome ?? 'running',
    lastReason: newest.reason,
    lastEndMs: newest.finished_at === null ? null : Date.parse(newest.finished_at),
    settledMs: msOf(judged[settledAt]),
    settledReason: judged[settledAt]?.reason ?? null,
    successMs: msOf(lastSuccess),
    failures: settledAt === -1 ? judged.length : settledAt,
  };
}

function isSettled({ outcome }: Run): boolean {
  return outcome === 'done' || outcome === 'incomplete' || outcome === 'held';
}

/** A run without an end has died, unless it is under way, which whoever starts the next one will find out. */
function isFailure({ outcome, reason }: Run): boolean {
  return outcome === null || reason === 'died' || (outcome === 'failed' && reason !== 'busy');
}

function msOf(run: Run | undefined): number | null {
  return run === undefined ? null : Date.parse(run.started_at);
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The first pause after a failure, for a job that does not tick more often; and the longest, for one that does. */
const firstPauseMs = 15 * minuteMs;
const longestPauseMs = hourMs;

/** How long a job waits that has failed so often in a row: twice as long each time, until it is back at its own pace. */
export function pauseMs(failures: number, periodMs: number): number {
  const first = Math.min(firstPauseMs, periodMs);
  return Math.min(first * 2 ** (failures - 1), Math.max(longestPauseMs, periodMs));
}

/** The time between two ticks about now. Where they are uneven, the longer of the one we are in and the one before. */
export function periodMsAt(ticks: Ticks, nowMs: number): number {
  const last = ticks.atOrBefore(nowMs);
  return Math.max(ticks.after(nowMs) - last, last - ticks.atOrBefore(last - 1));
}

/**
 * When a job is to start, which may be past: then it is due since then. Ticks that no run has answered are made up for
 * once, however many there were; after a failure the pause counts and not the ticks. What happened in the future, by a clock
 * that was wrong then or is now, says nothing.
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
  // A machine that went down is no fault of the job; only one that goes down again and again may be.
  const hasDied = lastReason === 'died' || lastOutcome === 'running';
  const counted = hasDied ? failures - 1 : failures;
  const sinceMs = lastEndMs ?? lastStartMs;
  if (counted < 1 || sinceMs === null || sinceMs > nowMs) return null;
  return sinceMs + pauseMs(counted, periodMsAt(ticks, nowMs));
}

/** A job, when it is to start, and when it was last started. */
type PlannedStart = { job: ScheduledJob; atMs: number; servedMs: number };

/** The jobs that are due, those first that have waited longest for a turn: after a start, what was missed before it. */
export function dueJobs(planned: readonly PlannedStart[], nowMs: number): ScheduledJob[] {
  return planned
    .filter(({ atMs }) => atMs <= nowMs)
    .toSorted(
      (a, b) => a.servedMs - b.servedMs || scheduledJobs.indexOf(a.job) - scheduledJobs.indexOf(b.job),
    )
    .map(({ job }) => job);
}

/** A project that waits for its turn: what it wants, and when it last got it. */
type Waiting = { name: string; isBusy: boolean; servedMs: number; due: readonly ScheduledJob[] };

/** What to start in so many free places: one job a project, the project first that has waited longest for a turn. */
export function chooseStarts(
  projects: readonly Waiting[],
  places: number,
): { name: string; job: ScheduledJob }[] {
  return projects
    .flatMap(({ name, isBusy, servedMs, due: [job] }) =>
      isBusy || job === undefined ? [] : [{ name, job, servedMs }],
    )
    .toSorted((a, b) => a.servedMs - b.servedMs)
    .slice(0, Math.max(places, 0))
    .map(({ name, job }) => ({ name, job }));
}
