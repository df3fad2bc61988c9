import { compileCron, type Ticks } from '../config/cron.ts';
import type { ScheduledJob } from '../config/settings.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { explainStorageError } from '../core/storage-error.ts';
import type { Logger } from '../log/logger.ts';
import { alertChanges, alertsOf } from './alerts.ts';
import { noHistory, type JobHistory, dueJobs, nextStartMs, periodMsAt } from './schedule-plan.ts';
import type { JobState, ProjectCondition, ProjectState } from '../job/worker-state.ts';
import type { Alert } from '../mirror/open-alerts.ts';

/** A project as the worker works on it. Every function may throw or reject when the data folder cannot be used. */
export type WorkerProject = Pick<ProjectState, 'name' | 'service' | 'dataDir'> & {
  /** Cron expressions, in UTC; a job that is null or missing never starts. */
  schedule: Readonly<Partial<Record<ScheduledJob, string | null>>>;
  /** Runs a job as one recorded run. Rejects as soon as it can once the signal is aborted. */
  run: (job: ScheduledJob, signal: AbortSignal) => Promise<unknown>;
  /** Whether a job that is under way would give way to another one now, between two of its steps. */
  givesWay: (running: ScheduledJob, to: ScheduledJob) => boolean;
  readHistory: (job: ScheduledJob) => JobHistory;
  readCondition: () => ProjectCondition;
  /** The alerts that were open at the last look, also at the last look of an earlier worker. */
  readAlerts: () => readonly Alert[];
  keepAlerts: (alerts: readonly Alert[]) => void;
};

/** How long a job waits when a command holds the data folder. */
const busyPauseMs = 30_000;

/** A job's records, and besides them the attempts that could not be recorded. */
type Attempts = {
  ticks: Ticks;
  cron: string;
  history: JobHistory;
  unrecorded: number;
  unrecordedEndMs: number;
  lastCode: string | null;
  notBeforeMs: number;
  servedMs: number;
  timesBusy: number;
};

/** Why the data folder or a job failed: the code, the message and the hint of the error. */
type Problem = { code: string; message: string; hint: string | null };

/** One project's jobs, one at a time; a pass gives way to some others, which are begun beside it. */
export type ProjectRunner = {
  name: string;
  /** Whether no other job can be begun now. */
  isBusy(): boolean;
  /** Whether a job is under way that gives way to those that are due. */
  givesWay(): boolean;
  /** When it last began a job, in milliseconds since 1970; 0 before the first. */
  servedMs(): number;
  /** Reads the records again. Returns the jobs that are due. */
  refresh(): ScheduledJob[];
  /** When the next job is to start, as last read; infinite where nothing is scheduled. */
  nextMs(): number;
  /** Runs a job to its end, however it ends. Never rejects. */
  start(job: ScheduledJob, signal: AbortSignal): Promise<void>;
  state(): ProjectState;
  /** The alerts that were open at the last look. */
  standing(): readonly Alert[];
  /** Keeps the alerts that are open at this look, for the next look. */
  keep(alerts: readonly Alert[]): void;
};

/** Makes the runner of a project. `startedAtMs` is when the worker started. */
export function projectRunner(
  project: WorkerProject,
  { clock, log, startedAtMs }: { clock: Clock; log: Logger; startedAtMs: number },
): ProjectRunner {
  const jobs = new Map(
    Object.entries(project.schedule).flatMap(([job, cron]): [ScheduledJob, Attempts][] =>
      cron === null ? [] : [[job as ScheduledJob, newAttempts(cron)]],
    ),
  );
  const running = new Map<ScheduledJob, number>();
  /** The jobs that can be begun beside what runs, as last read. */
  let beside: readonly ScheduledJob[] = [];
  let servedMs = 0;
  let problem: Problem | null = null;
  let condition: ProjectCondition | null = null;
  let standing: readonly Alert[] = [];
  /** Null until the data folder could be read. */
  let kept: readonly Alert[] | null = null;

  const startMsOf = (attempts: Attempts, nowMs: number): number => {
    const { ticks, notBeforeMs } = attempts;
    // A pause that ends later than any pause can was set before the clock was put back.
    const pausedUntilMs = notBeforeMs > nowMs + busyPauseMs ? 0 : notBeforeMs;
    return Math.max(nextStartMs(withUnrecorded(attempts), ticks, nowMs), pausedUntilMs);
  };
  const planned = (nowMs: number): { job: ScheduledJob; atMs: number; servedMs: number }[] =>
    [...jobs]
      .filter(([job]) => running.size === 0 || beside.includes(job))
      .map(([job, attempts]) => ({
        job,
        atMs: startMsOf(attempts, nowMs),
        servedMs: Math.max(attempts.servedMs, attempts.history.lastStartMs ?? 0),
      }));
  const readRecords = (): void => {
    // A run under way has no end yet, and would count as one that died.
    for (const [job, attempts] of jobs) if (!running.has(job)) attempts.history = project.readHistory(job);
    beside = [...jobs.keys()].filter((job) =>
      [...running.keys()].every((other) => other !== job && project.givesWay(other, job)),
    );
    condition = project.readCondition();
    if (kept !== null) return;
    kept = project.readAlerts();
    standing = [...kept, ...standing];
  };
  const refresh = (): ScheduledJob[] => {
    try {
      readRecords();
      problem = null;
    } catch (error) {
      const found = problemOf(error, project.dataDir);
      if (problem?.code !== found.code) log.error({ code: found.code }, 'the data folder cannot be used');
      problem = found;
      return [];
    }
    return dueJobs(planned(clock.now()), clock.now());
  };

  return {
    name: project.name,
    isBusy: () => running.size > 1,
    givesWay: () => running.size === 1,
    servedMs: () => servedMs,
    refresh,
    nextMs: () => (problem === null ? Math.min(...planned(clock.now()).map(({ atMs }) => atMs)) : Infinity),
    start: async (job, signal) => {
      const attempts = jobs.get(job);
      if (!attempts) throw new Error(`${job} is not scheduled`);
      servedMs = clock.now();
      attempts.servedMs = servedMs;
      running.set(job, servedMs);
      beside = [];
      try {
        await project.run(job, signal);
        noteSuccess(attempts);
      } catch (error) {
        const { code } = problemOf(error, project.dataDir);
        if (code === 'busy') {
          attempts.timesBusy += 1;
          attempts.notBeforeMs = clock.now() + busyPauseMs;
        } else if (!signal.aborted) {
          attempts.unrecorded += 1;
          attempts.unrecordedEndMs = clock.now();
          attempts.lastCode = code;
        }
        log.warn({ job, code }, 'job did not end well');
      } finally {
        running.delete(job);
      }
    },
    state: () => {
      const nowMs = clock.now();
      const state = {
        name: project.name,
        service: project.service,
        dataDir: project.dataDir,
        problem: problem?.code ?? null,
        condition,
        jobs: [...jobs].map(([job, attempts]): JobState => {
          const history = withUnrecorded(attempts);
          const since = running.get(job) ?? null;
          return {
            job,
            cron: attempts.cron,
            periodMs: periodMsAt(attempts.ticks, nowMs),
            nextAt: isoTime(startMsOf(attempts, nowMs)),
            lastAt: since === null ? isoOf(history.lastStartMs) : isoTime(since),
            lastOutcome: since === null ? history.lastOutcome : 'running',
            lastReason: since === null ? history.lastReason : null,
            lastSuccessAt: isoOf(history.successMs),
            lastFound: history.settledReason,
            runningSince: isoOf(since),
            failing: history.failing && { reason: history.failing.reason, since: isoTime(history.failing.sinceMs) },
            consecutiveFailures: history.failures,
            timesBusy: attempts.timesBusy,
          };
        }),
      };
      return { ...state, alerts: alertsOf(state, { nowMs, startedAtMs, detail: problem, standing }) };
    },
    standing: () => standing,
    keep: (alerts) => {
      standing = alerts;
      if (kept === null || !areOthers(kept, alerts)) return;
      try {
        project.keepAlerts(alerts);
        kept = alerts;
      } catch {
        // The next look tries again. If the alerts can never be written, the next worker reports them again.
      }
    },
  };
}

function areOthers(before: readonly Alert[], after: readonly Alert[]): boolean {
  const name = '';
  return alertChanges([{ name, alerts: before }], [{ name, alerts: after }], '').length > 0;
}

function newAttempts(cron: string): Attempts {
  return {
    ticks: compileCron(cron),
    cron,
    history: noHistory,
    unrecorded: 0,
    unrecordedEndMs: 0,
    lastCode: null,
    notBeforeMs: 0,
    servedMs: 0,
    timesBusy: 0,
  };
}

function noteSuccess(attempts: Attempts): void {
  attempts.unrecorded = 0;
  attempts.notBeforeMs = 0;
  attempts.lastCode = null;
}

/** The recorded history with the attempts that could not be recorded: on a full disk, too, a job has to pause. */
function withUnrecorded({ history, unrecorded, unrecordedEndMs, lastCode }: Attempts): JobHistory {
  if (unrecorded <= history.failures) return history;
  const failing = lastCode === null ? null : { reason: lastCode, sinceMs: unrecordedEndMs };
  const ended = { lastOutcome: 'failed', lastReason: lastCode, lastEndMs: unrecordedEndMs } as const;
  return { ...history, ...ended, failures: unrecorded, failing };
}

function problemOf(error: unknown, dataDir: string): Problem {
  const known = error instanceof AppError ? error : explainStorageError(error, dataDir);
  // The message of a foreign error may hold personal data.
  if (!known) return { code: 'unexpected', message: 'unexpected', hint: null };
  return { code: known.code, message: known.message, hint: known.hint ?? null };
}

function isoOf(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms);
}
