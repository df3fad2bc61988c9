import PQueue from 'p-queue';
import type { Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import type { ProjectState } from '../job/worker-state.ts';
import type { Logger } from '../log/logger.ts';
import type { WorkerProject } from '../worker/project-runner.ts';
import type { Worker } from '../worker/worker.ts';
import { folderInUse } from './local-copy.ts';
import type { SharedProject } from './holding-rows.ts';

/** A project of this machine's configuration, which it can hold. */
export type SharableProject = SharedProject & {
  /** What is shown of the project before any machine has said more. */
  bare: Pick<ProjectState, 'name' | 'service' | 'dataDir'>;
  /** Takes the project, and fetches its state to this machine. Rejects with `busy` where another machine holds it. */
  hold: () => Promise<{ work: WorkerProject; token: number; signal: AbortSignal }>;
  /** Puts its state where the next holder finds it, and lets other machines take it. */
  giveUp: () => Promise<void>;
  /** Closes the data folder of a project that is lost. What is in it stays: it may still be the newest state. */
  lose: () => Promise<void>;
  /** Deletes what this machine has of a project that another one holds. */
  clear: () => Promise<void>;
  /** Whether this machine has a copy of it, or what is left of one. */
  hasCopy: () => boolean;
};

/** A project that this machine holds, and what it has told others of it. */
export type HeldWork = Awaited<ReturnType<SharableProject['hold']>> & {
  project: SharableProject;
  told: string;
  toldMs: number;
};

/** The projects that this machine holds, and those on their way to it or from it. */
export type HeldProjects = {
  worker: Worker;
  clock: Clock;
  log: Logger;
  held: Map<string, HeldWork>;
  /** What moves now, by project: one move at a time. */
  moving: Map<string, Promise<void>>;
  /** Why a project could not be opened here. */
  failures: Map<string, string>;
  pausedUntilMs: Map<string, number>;
  unableUntilMs: number;
  atOnce: PQueue;
  /** Hears that nothing moves any more. */
  onMoved: () => void;
};

/** So many projects are fetched or put away at the same time. */
const movesAtOnce = 4;
/** A project that could not be opened here is left to others for so long; all are, where this machine could open none. */
const pauseMs = 60_000;
const unableMs = 10 * 60_000;

/** No projects yet. */
export function holdNone({ worker, clock, log, onMoved }: Pick<HeldProjects, 'worker' | 'clock' | 'log' | 'onMoved'>) {
  return {
    worker,
    clock,
    log,
    held: new Map(),
    moving: new Map(),
    failures: new Map(),
    pausedUntilMs: new Map(),
    unableUntilMs: 0,
    atOnce: new PQueue({ concurrency: movesAtOnce }),
    onMoved,
  } satisfies HeldProjects;
}

/** Begins to take a project, unless it moves already. One that fails is left to others for a while. */
export function beginToTake(projects: HeldProjects, project: SharableProject): void {
  move(projects, project, () => take(projects, project));
}

/** Begins to give up a project, unless it moves already. One that could not be given up is kept for a while, unless it is lost. */
export function beginToGiveUp(projects: HeldProjects, own: HeldWork): void {
  if (!own.signal.aborted && !isOver(projects.clock, projects.pausedUntilMs.get(own.project.id) ?? 0, pauseMs)) return;
  move(projects, own.project, () => giveUp(projects, own));
}

/** Begins to delete what this machine has of a project that another one holds, unless it moves already. */
export function beginToClear(projects: HeldProjects, project: SharableProject): void {
  move(projects, project, () => project.clear());
}

/** Gives up every project, once nothing moves any more. */
export async function giveUpAll(projects: HeldProjects): Promise<void> {
  await Promise.all(projects.moving.values());
  await Promise.allSettled([...projects.held.values()].map((own) => giveUp(projects, own)));
}

/** Whether this machine may take the project: it does not hold it, and has not failed to open it lately. */
export function mayTake({ held, pausedUntilMs, clock }: HeldProjects, id: string): boolean {
  return !held.has(id) && isOver(clock, pausedUntilMs.get(id) ?? 0, pauseMs);
}

/** Whether this machine can open projects, as far as is known: it has not failed at all that it tried lately. */
export function isAble({ clock, unableUntilMs }: HeldProjects): boolean {
  return isOver(clock, unableUntilMs, unableMs);
}

/** Whether a time is over. One that is further ahead than it can be was set before the clock was set back. */
function isOver(clock: Clock, untilMs: number, spanMs: number): boolean {
  const aheadMs = untilMs - clock.now();
  return aheadMs <= 0 || aheadMs > spanMs;
}

function move(projects: HeldProjects, { id, name }: SharableProject, act: () => Promise<void>): void {
  const { moving, pausedUntilMs, clock, log } = projects;
  if (moving.has(id)) return;
  const moved = act()
    .catch((error: unknown) => {
      log.error({ project: name, ...causeOf(error) }, 'a project could not be taken or given up');
      pausedUntilMs.set(id, clock.now() + pauseMs);
    })
    .finally(() => {
      moving.delete(id);
      if (moving.size === 0) projects.onMoved();
    });
  moving.set(id, moved);
}

async function take(projects: HeldProjects, project: SharableProject): Promise<void> {
  const { worker, clock, log, held, failures, atOnce } = projects;
  const { id, name } = project;
  try {
    const taken = await atOnce.add(() => project.hold());
    held.set(id, { ...taken, project, told: '', toldMs: 0 });
    worker.add(taken.work, taken.signal);
    failures.delete(id);
    projects.unableUntilMs = 0;
    log.info({ project: name, token: taken.token }, 'project taken');
  } catch (error) {
    // Another machine was faster.
    if (error instanceof AppError && error.code === 'busy' && error.finding !== folderInUse) return;
    failures.set(id, causeOf(error).cause);
    if (held.size === 0) projects.unableUntilMs = clock.now() + unableMs;
    throw error;
  }
}

async function giveUp({ worker, log, held, atOnce }: HeldProjects, own: HeldWork): Promise<void> {
  const { project, signal, token } = own;
  const { id, name } = project;
  await worker.remove(name);
  const isLost = signal.aborted;
  try {
    await atOnce.add(() => (isLost ? project.lose() : project.giveUp()));
  } catch (error) {
    // It is still held here, so it is worked on.
    if (!isLost) worker.add(own.work, signal);
    throw error;
  }
  held.delete(id);
  log.info({ project: name, token }, isLost ? 'project lost' : 'project given up');
}

/** What failed, for the log. The message of a foreign error may hold personal data. */
export function causeOf(error: unknown): { code: string; cause: string } {
  return error instanceof AppError
    ? { code: error.code, cause: error.message }
    : { code: 'unexpected', cause: 'unexpected' };
}
