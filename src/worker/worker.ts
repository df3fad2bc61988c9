import type { ScheduledJob } from '../config/settings.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import type { Logger } from '../log/logger.ts';
import { alertChanges, type AlertChange } from './alerts.ts';
import { projectRunner, type ProjectRunner, type WorkerProject } from './project-runner.ts';
import { chooseStarts } from './schedule-plan.ts';
import type { ProjectState, WorkerState } from '../job/worker-state.ts';

/** The projects of a worker, and what they share. */
export type WorkerSetup = {
  projects: readonly WorkerProject[];
  clock: Clock;
  log: Logger;
  /** How many projects run a job at the same time. */
  projectsAtOnce: number;
  /** Hears of every alert that begins or ends. */
  onAlert: (change: AlertChange) => void;
  /** Sees the state after every look at the projects. */
  onLook?: (state: WorkerState) => void;
  /** The longest wait between two looks at the clock, in milliseconds. Default one minute. */
  waitMaxMs?: number;
};

/** The worker: runs the jobs of every project by schedule until it is stopped. */
export type Worker = {
  state(): WorkerState;
  /** Works on one more project from now on. `signal`: aborts its jobs. */
  add(project: WorkerProject, signal: AbortSignal): void;
  /** Starts no more jobs of a project, and resolves when none runs. It is not in the state any more. */
  remove(name: string): Promise<void>;
  /** Whether no job of the project runs. */
  isIdle(name: string): boolean;
  /** Resolves when it was stopped and has taken its last look; rejects when it cannot go on. */
  ended: Promise<void>;
  /** Starts no more jobs, aborts those that run, and waits at most `drainMs` ms. Resolves with whether all ended. */
  stop(drainMs: number): Promise<boolean>;
};

/** The longest wait. A timer does not notice that the machine was suspended or its clock set. */
const minuteMs = 60_000;

/** A job under way, and what ends it. */
type UnderWay = { runner: ProjectRunner; end: Promise<void>; abort: AbortController };

/** A worker at work. */
type WorkerAtWork = ReturnType<typeof newWorker>;

function newWorker(setup: WorkerSetup) {
  return {
    setup,
    startedAtMs: setup.clock.now(),
    runners: [] as ProjectRunner[],
    /** What aborts the jobs of a project that has come later. */
    aborts: new Map<ProjectRunner, AbortSignal>(),
    underWay: new Set<UnderWay>(),
    stopping: new AbortController(),
    /** Ends the present wait. */
    wake: new AbortController(),
    /** The projects, as the last look has seen them. */
    states: [] as readonly ProjectState[],
  };
}

/** Starts the worker. Missed jobs start first. An alert that an earlier worker reported is not reported again. */
export function startWorker(setup: WorkerSetup): Worker {
  const worker = newWorker(setup);
  for (const project of setup.projects) addProject(worker, project);
  const ended = workUntilStopped(worker);
  return {
    state: () => stateOf(worker),
    add: (project, signal) => {
      worker.aborts.set(addProject(worker, project), signal);
      worker.wake.abort('a project has come');
    },
    remove: (name) => removeProject(worker, name),
    isIdle: (name) => ![...worker.underWay].some(({ runner }) => runner.name === name),
    ended,
    stop: (drainMs) => stopWorker(worker, ended, drainMs),
  };
}

function addProject({ setup, startedAtMs, runners }: WorkerAtWork, project: WorkerProject): ProjectRunner {
  const log = setup.log.child({ project: project.name });
  const runner = projectRunner(project, { clock: setup.clock, log, startedAtMs });
  runners.push(runner);
  return runner;
}

async function removeProject(worker: WorkerAtWork, name: string): Promise<void> {
  const { runners, aborts, underWay } = worker;
  const at = runners.findIndex((runner) => runner.name === name);
  const [runner] = at === -1 ? [] : runners.splice(at, 1);
  if (!runner) return;
  worker.states = worker.states.filter((state) => state.name !== name);
  await Promise.all([...underWay].filter((each) => each.runner === runner).map(({ end }) => end));
  aborts.delete(runner);
}

function stateOf({ startedAtMs, states }: WorkerAtWork): WorkerState {
  return { startedAt: isoTime(startedAtMs), projects: states };
}

async function workUntilStopped(worker: WorkerAtWork): Promise<void> {
  while (!worker.stopping.signal.aborted) {
    worker.wake = new AbortController();
    startWhatIsDue(worker);
    look(worker);
    try {
      await worker.setup.clock.sleep(napMs(worker), worker.wake.signal);
    } catch (error) {
      if (!worker.wake.signal.aborted) throw error;
    }
  }
}

function startWhatIsDue(worker: WorkerAtWork): void {
  const waiting = worker.runners.map((runner) => ({
    runner,
    due: runner.refresh(),
    isBusy: runner.isBusy(),
    hasPlace: runner.givesWay(),
    waitedMs: runner.waitedMs(),
    servedMs: runner.servedMs(),
  }));
  for (const { runner, job } of chooseStarts(waiting, freePlaces(worker))) begin(worker, runner, job);
}

/** How many more projects may run a job. */
function freePlaces({ setup, underWay }: WorkerAtWork): number {
  return setup.projectsAtOnce - new Set([...underWay].map(({ runner }) => runner)).size;
}

function begin(worker: WorkerAtWork, runner: ProjectRunner, job: ScheduledJob): void {
  const { aborts, underWay } = worker;
  const abort = new AbortController();
  const signal = AbortSignal.any([abort.signal, aborts.get(runner) ?? abort.signal]);
  const runToEnd = async (): Promise<void> => {
    await runner.start(job, signal);
    underWay.delete(begun);
    worker.wake.abort('a job has ended');
  };
  const begun: UnderWay = { runner, abort, end: runToEnd() };
  underWay.add(begun);
}

function look(worker: WorkerAtWork): void {
  const { setup, runners } = worker;
  const before = runners.map((runner) => ({ name: runner.name, alerts: runner.standing() }));
  worker.states = runners.map((runner) => runner.state());
  for (const change of alertChanges(before, worker.states, isoTime(setup.clock.now()))) {
    const { event, project, alert } = change;
    setup.log.warn({ project, alert: alert.kind, job: alert.job, event }, 'alert');
    setup.onAlert(change);
  }
  for (const [index, { alerts }] of worker.states.entries()) runners[index]?.keep(alerts);
  setup.onLook?.(stateOf(worker));
}

function napMs(worker: WorkerAtWork): number {
  const { clock, waitMaxMs = minuteMs } = worker.setup;
  // A project that waits for a free place is woken when another project's job ends.
  const isFull = freePlaces(worker) <= 0;
  const ready = worker.runners.filter((runner) => !runner.isBusy() && (!isFull || runner.givesWay()));
  const nextMs = Math.min(...ready.map((runner) => runner.nextMs()));
  return Math.min(Math.max(nextMs - clock.now(), 0), waitMaxMs);
}

async function stopWorker(worker: WorkerAtWork, ended: Promise<void>, drainMs: number): Promise<boolean> {
  const { underWay, stopping, wake, setup } = worker;
  stopping.abort();
  wake.abort('stopping');
  const interrupted = new AppError('interrupted', { code: 'interrupted' });
  for (const { abort } of underWay) abort.abort(interrupted);
  const all = Promise.all([ended, ...[...underWay].map(({ end }) => end)]);
  const deadline = new AbortController();
  const isDrained = await Promise.race([
    all.then(() => true),
    setup.clock.sleep(drainMs, deadline.signal).then(
      () => false,
      () => true,
    ),
  ]);
  deadline.abort();
  return isDrained;
}
