import { isoTime, type Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { ProjectState } from '../job/worker-state.ts';
import type { Logger } from '../log/logger.ts';
import type { Alert } from '../mirror/open-alerts.ts';
import { alertOf, type AlertChange } from '../worker/alerts.ts';
import type { Worker } from '../worker/worker.ts';
import type { ClusterDatabase } from './cluster-database.ts';
import {
  beginToClear,
  beginToGiveUp,
  beginToTake,
  causeOf,
  giveUpAll,
  holdNone,
  isAble,
  mayTake,
  type HeldProjects,
  type SharableProject,
} from './hold-projects.ts';
import type { Holdings } from './holdings.ts';
import { enrol, newerReason, noteSilence, readRoster, readStates, tellStates, type Roster } from './roster.ts';
import { planShare } from './share-plan.ts';
import type { ClusterTiming } from './timing.ts';

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

/** What a machine knows of its cluster. */
type Watch = ClusterWorkerSetup & {
  byId: ReadonlyMap<string, SharableProject>;
  own: HeldProjects;
  /** What the holders have told of their projects, and when, by the clock of the database. */
  told: Map<string, { state: ProjectState; at: string }>;
  newest: string | null;
  roster: Roster | undefined;
  lookedMs: number;
  isCutOff: boolean;
  wasAble: boolean;
};

/** So many projects are taken at one look: by the next, other machines may have come. */
const takesAtOnce = 20;
/** A holder speaks of its projects at least so often. Silence for three times as long is an alert. */
const tellEveryMs = 60_000;
const cutOffMs = 3 * tellEveryMs;

/** Starts to take projects. `ended` rejects with `busy` while another worker has the name of this machine. */
export function startClusterWorker(setup: ClusterWorkerSetup): ClusterWorker {
  const { clock, timing, holdings } = setup;
  const stopping = new AbortController();
  let wake = new AbortController();
  const watch: Watch = {
    ...setup,
    byId: new Map(setup.projects.map((project) => [project.id, project])),
    own: holdNone({ ...setup, onMoved: () => wake.abort('all is moved') }),
    told: new Map(),
    newest: null,
    roster: undefined,
    lookedMs: clock.now(),
    isCutOff: false,
    wasAble: true,
  };
  const loop = async (): Promise<void> => {
    await beginToLive(setup);
    while (!stopping.signal.aborted) {
      await look(watch).catch((error: unknown) => noteCutOff(watch, error));
      show(watch);
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
      await giveUpAll(watch.own);
      await holdings.close();
    },
  };
}

/** One look at the cluster: tells what this machine does, reads what others do, and takes and gives up what the plan says. */
async function look(watch: Watch): Promise<void> {
  const { database, own, holdings, clock, told } = watch;
  for (const each of own.held.values()) if (each.signal.aborted) beginToGiveUp(own, each);
  await tell(watch);
  for (const { id, state, at } of await readStates(database, [...watch.byId.keys()], watch.newest)) {
    watch.newest = at;
    const said = ProjectState.safeParse(state).data;
    if (said) told.set(id, { state: said, at });
    else
      watch.log.warn(
        { project: watch.byId.get(id)?.name ?? id },
        'the database has a state of a project that cannot be read',
      );
  }
  const able = isAble(own);
  if (able !== watch.wasAble) await holdings.tellAble(able);
  watch.wasAble = able;
  const roster = await readWhole(watch);
  watch.roster = roster;
  watch.lookedMs = clock.now();
  if (watch.isCutOff) announce(watch, 'ended', holdings.machine, cutOff);
  watch.isCutOff = false;
  await tellSilence(watch, roster);
  // A project that no configuration has any more belongs to no machine.
  roster.projects = roster.projects.filter(({ id, holder }) => watch.byId.has(id) || holder !== null);
  moveByPlan(watch, roster);
  clearCopies(watch, roster);
}

/** Reads the cluster, in which every project of the configuration has its row: also where the database has come back without. */
async function readWhole({ database, projects }: Watch): Promise<Roster> {
  const roster = await readRoster(database);
  const known = new Set(roster.projects.map(({ id }) => id));
  if (projects.every(({ id }) => known.has(id))) return roster;
  await enrol(database, projects);
  return readRoster(database);
}

/** Tells other machines of the projects that this one holds: what has changed, and all once a minute. */
async function tell({ worker, own, clock, database }: Watch): Promise<void> {
  const here = new Map(worker.state().projects.map((state) => [state.name, state]));
  const now = clock.now();
  const news = [...own.held.values()].flatMap((each) => {
    const { project, token, told: before, toldMs } = each;
    const state = here.get(project.name);
    const text = JSON.stringify(state);
    if (!state || (text === before && now - toldMs < tellEveryMs)) return [];
    each.told = text;
    each.toldMs = now;
    return [{ id: project.id, token, state }];
  });
  await tellStates(database, news);
}

/** Announces the projects that no machine works on, and those that one works on again. Of all machines, one does. */
async function tellSilence(watch: Watch, { projects }: Roster): Promise<void> {
  if (projects.every(({ isSilent, isAnnounced }) => isSilent === isAnnounced)) return;
  for (const project of await noteSilence(watch.database, [...watch.byId.keys()])) {
    const name = watch.byId.get(project.id)?.name ?? project.id;
    announce(watch, project.isSilent ? 'began' : 'ended', name, unattendedOf(watch, project));
  }
}

/** Takes and gives up projects as the plan shares them out. */
function moveByPlan({ own, byId, worker, holdings, schema }: Watch, { projects, machines: all }: Roster): void {
  const idle = new Set([...own.held].flatMap(([id, { project }]) => (worker.isIdle(project.name) ? [id] : [])));
  const free = new Set([...byId.keys()].filter((id) => mayTake(own, id)));
  const machines = all.filter(({ isLive }) => isLive);
  const plan = planShare(projects, machines, { machine: holdings.machine, own: free, idle, schema });
  for (const id of plan.giveUp) {
    const given = own.held.get(id);
    if (given) beginToGiveUp(own, given);
  }
  for (const id of plan.take.slice(0, takesAtOnce)) {
    const project = byId.get(id);
    if (project) beginToTake(own, project);
  }
}

/** Deletes what this machine has of projects that others hold. */
function clearCopies({ holdings, own, byId }: Watch, { projects }: Roster): void {
  for (const { id, holder } of projects) {
    const project = byId.get(id);
    const isElsewhere = holder !== null && holder !== holdings.machine;
    if (project && isElsewhere && mayTake(own, id) && project.hasCopy()) beginToClear(own, project);
  }
}

/** Notes that a look has failed. After three minutes it is an alert. Throws what is a fault of this program. */
function noteCutOff(watch: Watch, error: unknown): void {
  if (!(error instanceof AppError)) throw error;
  watch.log.warn(causeOf(error), 'the cluster cannot be looked at');
  // Without the database, the machines cannot choose one that says it: each says it for itself.
  if (watch.isCutOff || watch.clock.now() - watch.lookedMs <= cutOffMs) return;
  watch.isCutOff = true;
  announce(watch, 'began', watch.holdings.machine, cutOff);
}

/** Shows all projects of the cluster: those that this machine holds as they are, others as their holders have told. */
function show({ roster, worker, own, byId, told, holdings, isCutOff, onLook, ...watch }: Watch): void {
  if (!roster) return;
  const here = new Map(worker.state().projects.map((state) => [state.name, state]));
  onLook(
    roster.projects.map((project): ProjectState => {
      const { id, name, holder, isPaused, isSilent } = project;
      const isHere = own.held.has(id);
      const state = here.get(byId.get(id)?.name ?? name);
      const seen = told.get(id);
      const bare = byId.get(id)?.bare ?? {
        name,
        service: { baseUrl: null, projectId: null, keyFrom: '' },
        dataDir: '',
      };
      const standing = { machine: isHere ? holdings.machine : holder, isHere, isPaused, at: seen?.at ?? null };
      const nothing = { ...bare, problem: null, jobs: [], condition: null, alerts: [] } satisfies ProjectState;
      const shown = (isHere ? state : undefined) ?? seen?.state ?? nothing;
      const unattended = isCutOff ? [cutOff] : isSilent ? [unattendedOf({ own, ...watch }, project)] : [];
      return { ...shown, alerts: [...unattended, ...shown.alerts], cluster: standing };
    }),
  );
}

function announce({ log, onAlert, clock }: Watch, event: AlertChange['event'], project: string, alert: Alert): void {
  log.warn({ project, alert: alert.kind, event }, 'alert');
  onAlert({ event, project, alert, at: isoTime(clock.now()) });
}

/** The alert about a project that no machine works on, with the reason why this one does not. */
function unattendedOf({ own, schema }: Pick<Watch, 'own' | 'schema'>, project: { id: string; schema: number }): Alert {
  const why = newerReason(project, schema) ?? own.failures.get(project.id);
  const cause = why === undefined ? '' : `; this machine cannot open it: ${why}`;
  return alertOf('unattended', `no machine has worked on it for 3 minutes${cause}`);
}

/** The alert of a machine that can tell neither what the others do nor what it holds itself. */
const cutOff: Alert = {
  ...alertOf(
    'unattended',
    'the database of the cluster has not answered this machine for 3 minutes, so it works on no project',
  ),
  todo: 'See that Postgres runs and that this machine reaches it (`cluster.database`). The work goes on by itself then.',
};

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
