import PQueue from 'p-queue';
import type { ClusterDatabase } from '../cluster/cluster-database.ts';
import type { SharedProject } from '../cluster/holding-rows.ts';
import type { Holdings } from '../cluster/holdings.ts';
import { enrol, newerReason, noteSilence, readRoster, readStates, tellStates, type Roster } from '../cluster/roster.ts';
import { openCopies } from '../cluster/copies.ts';
import { folderInUse } from '../cluster/folder-lock.ts';
import { planShare } from '../cluster/share-plan.ts';
import type { ClusterTiming } from '../cluster/timing.ts';
import { isoTime, type Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import type { ProjectState } from '../job/worker-state.ts';
import type { Logger } from '../log/logger.ts';
import type { Alert } from '../mirror/open-alerts.ts';
import { alertOf, type AlertChange } from './alerts.ts';
import type { WorkerProject } from './project-runner.ts';
import type { Worker } from './worker.ts';

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
};

/** What the worker of a cluster works with. */
export type ClusterWorkerSetup = {
  worker: Worker;
  database: ClusterDatabase;
  holdings: Holdings;
  projects: readonly SharableProject[];
  schema: number;
  clock: Clock;
  log: Logger;
  /** Sees the state of all projects of the cluster after each look at it. */
  onLook: (projects: readonly ProjectState[]) => void;
  /** Hears of each alert about a project that no machine works on; of all machines, one does. */
  onAlert: (change: AlertChange) => void;
  timing: ClusterTiming;
  /** Ends the wait for the name of this machine. */
  signal: AbortSignal;
};

/** The part of a worker that takes projects of a cluster and gives them up. */
export type ClusterWorker = {
  /** Rejects when it cannot go on. */
  ended: Promise<void>;
  /** Gives up every project. The worker has stopped. */
  close: () => Promise<void>;
};

/** So many projects are fetched or put away at the same time, and so many taken at one look: by the next, other machines may have come. */
const movesAtOnce = 4;
const takesAtOnce = 20;
/** A project that could not be opened here is left to others for so long; all are, where this machine could open none. */
const pauseMs = 60_000;
const unableMs = 10 * 60_000;
/** A holder speaks of its projects at least so often. Silence for three times as long is an alert. */
const tellEveryMs = 60_000;
const cutOffMs = 3 * tellEveryMs;

type Held = Awaited<ReturnType<SharableProject['hold']>> & { project: SharableProject; told: string; toldMs: number };

/** Starts to take projects. `ended` rejects with `busy` while another worker has the name of this machine. */
export function startClusterWorker(setup: ClusterWorkerSetup): ClusterWorker {
  const { worker, database, holdings, projects, clock, log, onLook, onAlert, timing, schema } = setup;
  const byId = new Map(projects.map((project) => [project.id, project]));
  const held = new Map<string, Held>();
  const moving = new Map<string, Promise<void>>();
  const atOnce = new PQueue({ concurrency: movesAtOnce });
  const pausedUntilMs = new Map<string, number>();
  const failures = new Map<string, string>();
  const told = new Map<string, { state: ProjectState; at: string }>();
  const stopping = new AbortController();
  let wake = new AbortController();
  let lookedMs = clock.now();
  let isCutOff = false;
  let unableUntilMs = 0;
  let wasAble = true;
  let newest: string | null = null;
  let roster: Roster | undefined;

  /** Whether a time is over. One that is further ahead than it can be was set before the clock was set back. */
  const isOver = (untilMs: number, spanMs: number): boolean => {
    const aheadMs = untilMs - clock.now();
    return aheadMs <= 0 || aheadMs > spanMs;
  };
  /** Acts on a project, one act at a time; a project that fails is left alone for a while. */
  const move = (id: string, act: () => Promise<void>): void => {
    if (moving.has(id)) return;
    const moved = act()
      .catch((error: unknown) => {
        log.error({ project: byId.get(id)?.name, ...causeOf(error) }, 'a project could not be taken or given up');
        pausedUntilMs.set(id, clock.now() + pauseMs);
      })
      .finally(() => {
        moving.delete(id);
        if (moving.size === 0) wake.abort('all is moved');
      });
    moving.set(id, moved);
  };
  const take = async (project: SharableProject): Promise<void> => {
    const { id, name } = project;
    try {
      const taken = await atOnce.add(() => project.hold());
      held.set(id, { ...taken, project, told: '', toldMs: 0 });
      worker.add(taken.work, taken.signal);
      failures.delete(id);
      unableUntilMs = 0;
      log.info({ project: name, token: taken.token }, 'project taken');
    } catch (error) {
      // Another machine was faster.
      if (error instanceof AppError && error.code === 'busy' && error.finding !== folderInUse) return;
      failures.set(id, causeOf(error).cause);
      if (held.size === 0) unableUntilMs = clock.now() + unableMs;
      throw error;
    }
  };
  const giveUp = async (own: Held): Promise<void> => {
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
  };
  const tell = async (): Promise<void> => {
    const here = new Map(worker.state().projects.map((state) => [state.name, state]));
    const now = clock.now();
    const news = [...held.values()].flatMap((own) => {
      const { project, token, told: before, toldMs } = own;
      const state = here.get(project.name);
      const text = JSON.stringify(state);
      if (!state || (text === before && now - toldMs < tellEveryMs)) return [];
      own.told = text;
      own.toldMs = now;
      return [{ id: project.id, token, state }];
    });
    await tellStates(database, news);
  };
  /** The alert about a project that no machine works on, with the reason why this one does not. */
  const unattendedOf = (project: { id: string; schema: number }): Alert => {
    const why = newerReason(project, schema) ?? failures.get(project.id);
    return alertOf(
      'unattended',
      `no machine has worked on it for 3 minutes${why === undefined ? '' : `; this machine cannot open it: ${why}`}`,
    );
  };
  const announce = (event: AlertChange['event'], project: string, alert: Alert): void => {
    log.warn({ project, alert: alert.kind, event }, 'alert');
    onAlert({ event, project, alert, at: isoTime(clock.now()) });
  };
  const show = (): void => {
    if (!roster) return;
    const here = new Map(worker.state().projects.map((state) => [state.name, state]));
    onLook(
      roster.projects.map((project): ProjectState => {
        const { id, name, holder, isPaused, isSilent } = project;
        const own = held.get(id);
        const state = here.get(byId.get(id)?.name ?? name);
        const seen = told.get(id);
        const bare = byId.get(id)?.bare ?? { name, service: { baseUrl: null, projectId: null }, dataDir: '' };
        const standing = {
          machine: own ? holdings.machine : holder,
          isHere: own !== undefined,
          isPaused,
          at: seen?.at ?? null,
        };
        const nothing = { ...bare, problem: null, jobs: [], condition: null, alerts: [] } satisfies ProjectState;
        const shown = (own && state) ?? seen?.state ?? nothing;
        const unattended = isCutOff ? [cutOff] : isSilent ? [unattendedOf(project)] : [];
        return { ...shown, alerts: [...unattended, ...shown.alerts], cluster: standing };
      }),
    );
  };
  const look = async (): Promise<void> => {
    for (const own of held.values()) if (own.signal.aborted) move(own.project.id, () => giveUp(own));
    await tell();
    for (const { id, state, at } of await readStates(database, newest)) {
      told.set(id, { state: state as ProjectState, at });
      newest = at;
    }
    const isAble = isOver(unableUntilMs, unableMs);
    if (isAble !== wasAble) await holdings.tellAble(isAble);
    wasAble = isAble;
    roster = await readRoster(database);
    lookedMs = clock.now();
    if (isCutOff) announce('ended', holdings.machine, cutOff);
    isCutOff = false;
    if (roster.projects.some(({ isSilent, isAnnounced }) => isSilent !== isAnnounced))
      for (const project of await noteSilence(database, [...byId.keys()]))
        announce(project.isSilent ? 'began' : 'ended', byId.get(project.id)?.name ?? project.id, unattendedOf(project));
    // A project that no configuration has any more belongs to no machine.
    roster.projects = roster.projects.filter(({ id, holder }) => byId.has(id) || holder !== null);
    const idle = new Set([...held].flatMap(([id, { project }]) => (worker.isIdle(project.name) ? [id] : [])));
    const own = new Set([...byId.keys()].filter((id) => !held.has(id) && isOver(pausedUntilMs.get(id) ?? 0, pauseMs)));
    const machines = roster.machines.filter(({ isLive }) => isLive);
    const plan = planShare(roster.projects, machines, { machine: holdings.machine, own, idle, schema });
    for (const id of plan.giveUp) {
      const given = held.get(id);
      if (given) move(id, () => giveUp(given));
    }
    for (const id of plan.take.slice(0, takesAtOnce)) {
      const project = byId.get(id);
      if (project) move(id, () => take(project));
    }
    for (const { project: id } of await openCopies(database).ofMachine(holdings.machine)) {
      const holder = roster.projects.find((project) => project.id === id)?.holder ?? null;
      if (holder !== null && holder !== holdings.machine && !held.has(id)) move(id, async () => byId.get(id)?.clear());
    }
    show();
  };
  const loop = async (): Promise<void> => {
    await beginToLive(setup);
    await enrol(database, projects);
    while (!stopping.signal.aborted) {
      try {
        await look();
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        log.warn(causeOf(error), 'the cluster cannot be looked at');
        // Without the database, the machines cannot choose one that says it: each says it for itself.
        if (!isCutOff && clock.now() - lookedMs > cutOffMs) {
          isCutOff = true;
          announce('began', holdings.machine, cutOff);
        }
        show();
      }
      wake = new AbortController();
      await clock.sleep(timing.beatMs, AbortSignal.any([wake.signal, stopping.signal])).catch(() => undefined);
    }
  };
  const ended = loop();
  return {
    ended,
    close: async () => {
      stopping.abort();
      await ended.catch(() => undefined);
      await Promise.all(moving.values());
      await Promise.allSettled([...held.values()].map(giveUp));
      await holdings.close();
    },
  };
}

/** The alert of a machine that can tell neither what the others do nor what it holds itself. */
const cutOff: Alert = {
  ...alertOf(
    'unattended',
    'the database of the cluster has not answered this machine for 3 minutes, so it works on no project',
  ),
  todo: 'See that Postgres runs and that this machine reaches it (`cluster.database`). The work goes on by itself then.',
};

/** What failed, for the log. The message of a foreign error may hold personal data. */
function causeOf(error: unknown): { code: string; cause: string } {
  return error instanceof AppError
    ? { code: error.code, cause: error.message }
    : { code: 'unexpected', cause: 'unexpected' };
}

/** Waits for an earlier process of this machine, which may have been killed, and then says that this one lives. */
async function beginToLive({ holdings, clock, log, timing, signal }: ClusterWorkerSetup): Promise<void> {
  const untilMs = clock.now() + timing.leaseMs + timing.beatMs;
  for (let waits = 0; ; waits += 1) {
    try {
      return await holdings.live();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'busy' || clock.now() > untilMs) throw error;
    }
    if (waits === 0)
      log.warn({ machine: holdings.machine }, 'waiting for the worker that had the name of this machine');
    await clock.sleep(timing.beatMs / 5, signal);
  }
}
