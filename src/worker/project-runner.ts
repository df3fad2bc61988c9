import { compileCron } from '../config/cron.ts';
import type { ScheduledJob } from '../config/settings.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { explainStorageError } from '../core/storage-error.ts';
import type { Logger } from '../log/logger.ts';
import { alertChanges, alertsOf } from './alerts.ts';
import { dueJobs, jobStateOf, nextStartMs, noHistory, type JobHistory, type PlannedStart } from './schedule-plan.ts';
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
type Attempts = ReturnType<typeof newAttempts>;

/** Why the data folder or a job failed: the code, the message and the hint of the error. */
type Problem = { code: string; message: string; hint: string | null };

/** One project's jobs, one at a time; a pass gives way to some others, which are begun beside it. */
export type ProjectRunner = {
  name: string;
  /** Whether no other job can be begun now. */
  isBusy(): boolean;
  /** Whether a job is under way that gives way to those that are due. */
  givesWay(): boolean;
  /** For how long, in milliseconds, a job has been due without one being begun, as last read. */
  waitedMs(): number;
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

/** A project under its runner. */
type RunnerState = ReturnType<typeof newRunner>;

function newRunner(project: WorkerProject, clock: Clock, log: Logger) {
  const jobs = Object.entries(project.schedule).flatMap(([job, cron]): [ScheduledJob, Attempts][] =>
    cron === null ? [] : [[job as ScheduledJob, newAttempts(cron)]],
  );
  return {
    project,
    clock,
    log,
    jobs: new Map(jobs),
    /** The jobs under way, and when each began. */
    running: new Map<ScheduledJob, number>(),
    /** The jobs that can be begun beside what runs, as last read. */
    beside: [] as readonly ScheduledJob[],
    servedMs: 0,
    dueSinceMs: null as number | null,
    problem: null as Problem | null,
    condition: null as ProjectCondition | null,
    standing: [] as readonly Alert[],
    /** Null until the data folder could be read. */
    kept: null as readonly Alert[] | null,
  };
}

/** Makes the runner of a project. `startedAtMs` is when the worker started. */
export function projectRunner(
  project: WorkerProject,
  { clock, log, startedAtMs }: { clock: Clock; log: Logger; startedAtMs: number },
): ProjectRunner {
  const runner = newRunner(project, clock, log);
  return {
    name: project.name,
    isBusy: () => runner.running.size > 1,
    givesWay: () => runner.running.size === 1,
    // A clock that was set back makes nobody wait for longer.
    waitedMs: () => Math.abs(clock.now() - (runner.dueSinceMs ?? clock.now())),
    servedMs: () => runner.servedMs,
    refresh: () => refresh(runner),
    nextMs: () =>
      runner.problem === null ? Math.min(...planJobs(runner, clock.now()).map(({ atMs }) => atMs)) : Infinity,
    start: (job, signal) => start(runner, job, signal),
    state: () => projectState(runner, startedAtMs),
    standing: () => runner.standing,
    keep: (alerts) => keepAlerts(runner, alerts),
  };
}

/** When a job starts next: after its pause, if it has one. */
function startMsOf(attempts: Attempts, nowMs: number): number {
  const { ticks, notBeforeMs } = attempts;
  // A pause that ends later than any pause can was set before the clock was put back.
  const pausedUntilMs = notBeforeMs > nowMs + busyPauseMs ? 0 : notBeforeMs;
  return Math.max(nextStartMs(withUnrecorded(attempts), ticks, nowMs), pausedUntilMs);
}

/** The jobs that can be begun, and when. */
function planJobs({ jobs, running, beside }: RunnerState, nowMs: number): PlannedStart[] {
  return [...jobs]
    .filter(([job]) => running.size === 0 || beside.includes(job))
    .map(([job, attempts]) => ({
      job,
      atMs: startMsOf(attempts, nowMs),
      servedMs: Math.max(attempts.servedMs, attempts.history.lastStartMs ?? 0),
    }));
}

function readRecords(runner: RunnerState): void {
  const { project, jobs, running } = runner;
  // A run under way has no end yet, and would count as one that died.
  for (const [job, attempts] of jobs) if (!running.has(job)) attempts.history = project.readHistory(job);
  runner.beside = [...jobs.keys()].filter((job) =>
    [...running.keys()].every((other) => other !== job && project.givesWay(other, job)),
  );
  runner.condition = project.readCondition();
  if (runner.kept !== null) return;
  runner.kept = project.readAlerts();
  runner.standing = [...runner.kept, ...runner.standing];
}

function refresh(runner: RunnerState): ScheduledJob[] {
  const { clock, log, project } = runner;
  try {
    readRecords(runner);
    runner.problem = null;
  } catch (error) {
    const found = problemOf(error, project.dataDir);
    if (runner.problem?.code !== found.code) log.error({ code: found.code }, 'the data folder cannot be used');
    runner.problem = found;
    return [];
  }
  const due = dueJobs(planJobs(runner, clock.now()), clock.now());
  runner.dueSinceMs = due.length === 0 ? null : (runner.dueSinceMs ?? clock.now());
  return due;
}

async function start(runner: RunnerState, job: ScheduledJob, signal: AbortSignal): Promise<void> {
  const { clock, log, project, jobs, running } = runner;
  const attempts = jobs.get(job);
  if (!attempts) throw new Error(`${job} is not scheduled`);
  runner.servedMs = clock.now();
  attempts.servedMs = runner.servedMs;
  running.set(job, runner.servedMs);
  runner.dueSinceMs = null;
  runner.beside = [];
  try {
    await project.run(job, signal);
    attempts.unrecorded = 0;
    attempts.notBeforeMs = 0;
    attempts.lastCode = null;
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
}

function projectState(runner: RunnerState, startedAtMs: number): ProjectState {
  const { clock, jobs, running, problem, condition, standing } = runner;
  const { name, service, dataDir } = runner.project;
  const nowMs = clock.now();
  const told = {
    name,
    service,
    dataDir,
    problem: problem?.code ?? null,
    condition,
    jobs: [...jobs].map(([job, attempts]) => jobState(job, attempts, running.get(job) ?? null, nowMs)),
  };
  return { ...told, alerts: alertsOf(told, { nowMs, startedAtMs, detail: problem, standing }) };
}

/** A job as the worker's state tells it. `since`: when it was begun, if it is under way. */
function jobState(job: ScheduledJob, attempts: Attempts, sinceMs: number | null, nowMs: number): JobState {
  const since = sinceMs === null ? null : isoTime(sinceMs);
  return {
    ...jobStateOf(job, attempts, withUnrecorded(attempts), nowMs),
    nextAt: isoTime(startMsOf(attempts, nowMs)),
    ...(since && { lastAt: since, lastOutcome: 'running', lastReason: null, runningSince: since }),
    timesBusy: attempts.timesBusy,
  };
}

function keepAlerts(runner: RunnerState, alerts: readonly Alert[]): void {
  runner.standing = alerts;
  if (runner.kept === null || !areOthers(runner.kept, alerts)) return;
  try {
    runner.project.keepAlerts(alerts);
    runner.kept = alerts;
  } catch {
    // The next look tries again. If the alerts can never be written, the next worker reports them again.
  }
}

function areOthers(before: readonly Alert[], after: readonly Alert[]): boolean {
  const name = '';
  return alertChanges([{ name, alerts: before }], [{ name, alerts: after }], '').length > 0;
}

function newAttempts(cron: string) {
  return {
    ticks: compileCron(cron),
    cron,
    history: noHistory,
    unrecorded: 0,
    unrecordedEndMs: 0,
    lastCode: null as string | null,
    notBeforeMs: 0,
    servedMs: 0,
    timesBusy: 0,
  };
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
