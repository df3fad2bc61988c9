import type { Ticks } from '../config/cron.ts';
import { scheduledJobs, type ScheduledJob } from '../config/settings.ts';
import type { JobHistory } from './job-history.ts';

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
