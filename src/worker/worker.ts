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

/** Starts the worker. Missed jobs start first. An alert that an earlier worker reported is not reported again. */
export function startWorker(setup: WorkerSetup): Worker {
  const { clock, log, projectsAtOnce, waitMaxMs = minuteMs } = setup;
  const startedAtMs = clock.now();
  const runners: ProjectRunner[] = [];
  const aborts = new Map<ProjectRunner, AbortSignal>();
  const add = (project: WorkerProject, signal?: AbortSignal): void => {
    const runner = projectRunner(project, { clock, log: log.child({ project: project.name }), startedAtMs });
    runners.push(runner);
    if (signal) aborts.set(runner, signal);
  };
  for (const project of setup.projects) add(project);
  type UnderWay = { runner: ProjectRunner; end: Promise<void>; abort: AbortController };
  const underWay = new Set<UnderWay>();
  const runnersUnderWay = (): Set<ProjectRunner> => new Set([...underWay].map(({ runner }) => runner));
  const stopping = new AbortController();
  let wake = new AbortController();
  let states: readonly ProjectState[] = [];

  const stateNow = (): WorkerState => ({
    startedAt: isoTime(startedAtMs),
    isStopping: stopping.signal.aborted,
    projects: states,
  });
  const begin = (runner: ProjectRunner, job: ScheduledJob): void => {
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, aborts.get(runner) ?? abort.signal]);
    const runToEnd = async (): Promise<void> => {
      await runner.start(job, signal);
      underWay.delete(begun);
      wake.abort('a job has ended');
    };
    const begun: UnderWay = { runner, abort, end: runToEnd() };
    underWay.add(begun);
  };
  const startWhatIsDue = (): void => {
    const waiting = runners.map((runner) => ({
      runner,
      name: runner.name,
      due: runner.refresh(),
      isBusy: runner.isBusy(),
      hasPlace: runner.givesWay(),
      servedMs: runner.servedMs(),
    }));
    for (const { name, job } of chooseStarts(waiting, projectsAtOnce - runnersUnderWay().size)) {
      const chosen = waiting.find((project) => project.name === name);
      if (chosen) begin(chosen.runner, job);
    }
  };
  const look = (): void => {
    const before = runners.map((runner) => ({ name: runner.name, alerts: runner.standing() }));
    states = runners.map((runner) => runner.state());
    for (const change of alertChanges(before, states, isoTime(clock.now()))) {
      const { event, project, alert } = change;
      log.warn({ project, alert: alert.kind, job: alert.job, event }, 'alert');
      setup.onAlert(change);
    }
    for (const [index, { alerts }] of states.entries()) runners[index]?.keep(alerts);
    setup.onLook?.(stateNow());
  };
  const napMs = (): number => {
    // A project that waits for a free place is woken when another project's job ends.
    const isFull = runnersUnderWay().size >= projectsAtOnce;
    const ready = runners.filter((runner) => !runner.isBusy() && (!isFull || runner.givesWay()));
    const nextMs = Math.min(...ready.map((runner) => runner.nextMs()));
    return Math.min(Math.max(nextMs - clock.now(), 0), waitMaxMs);
  };
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      wake = new AbortController();
      startWhatIsDue();
      look();
      try {
        await clock.sleep(napMs(), wake.signal);
      } catch (error) {
        if (!wake.signal.aborted) throw error;
      }
    }
  };
  const ended = loop();
  return {
    state: stateNow,
    add: (project, signal) => {
      add(project, signal);
      wake.abort('a project has come');
    },
    remove: async (name) => {
      const at = runners.findIndex((runner) => runner.name === name);
      const [runner] = at === -1 ? [] : runners.splice(at, 1);
      if (!runner) return;
      states = states.filter((state) => state.name !== name);
      await Promise.all([...underWay].filter((each) => each.runner === runner).map(({ end }) => end));
      aborts.delete(runner);
    },
    isIdle: (name) => ![...underWay].some(({ runner }) => runner.name === name),
    ended,
    stop: async (drainMs) => {
      stopping.abort();
      wake.abort('stopping');
      const interrupted = new AppError('interrupted', { code: 'interrupted' });
      for (const { abort } of underWay) abort.abort(interrupted);
      const all = Promise.all([ended, ...[...underWay].map(({ end }) => end)]);
      const deadline = new AbortController();
      const isDrained = await Promise.race([
        all.then(() => true),
        clock.sleep(drainMs, deadline.signal).then(
          () => false,
          () => true,
        ),
      ]);
      deadline.abort();
      return isDrained;
    },
  };
}
