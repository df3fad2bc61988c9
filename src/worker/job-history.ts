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
