import { setImmediate as turn } from 'node:timers/promises';
import type { ClusterDatabase } from '../../src/cluster/cluster-database.ts';
import {
  beginToLive,
  freeProject,
  keepProjects,
  liveFurther,
  liveNoLonger,
  takeProject,
  tellAble,
  wantProject,
  type HeldRow,
  type SharedProject,
} from '../../src/cluster/holding-rows.ts';
import type { Holding, Holdings } from '../../src/cluster/holdings.ts';
import { clusterTiming } from '../../src/cluster/timing.ts';
import { isoTime, type Clock } from '../../src/core/clock.ts';
import { AppError } from '../../src/core/errors.ts';
import { createLogger } from '../../src/log/logger.ts';
import type { ProjectState } from '../../src/job/worker-state.ts';
import type { WorkerProject } from '../../src/worker/project-runner.ts';
import type { AlertChange } from '../../src/worker/alerts.ts';
import { startClusterWorker } from '../../src/cluster/cluster-worker.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { fakeProject, type FakeJob, type FakeProject } from '../worker/fake-project.ts';

const { beatMs, leaseMs } = clusterTiming;

/** The time of a whole cluster. It moves on when no machine waits for the database. */
export type FleetTime = {
  clock: Clock;
  /** A database whose clock is this one. */
  database: (real: ClusterDatabase) => ClusterDatabase;
  /** Moves on until a time, in milliseconds since 1970. */
  runUntil: (ms: number) => Promise<void>;
};

/** Makes the time of a cluster, which begins at `startMs`. */
export function fleetTime(startMs: number): FleetTime {
  let nowMs = startMs;
  const sleepers = new Map<number, Set<() => void>>();
  let asked = 0;
  const clock: Clock = {
    now: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const atMs = nowMs + Math.max(0, ms);
        const all = sleepers.get(atMs) ?? new Set();
        sleepers.set(atMs, all.add(resolve));
        signal?.addEventListener('abort', () => {
          all.delete(resolve);
          reject(signal.reason as Error);
        });
      }),
  };
  const counted = async <T>(ask: () => Promise<T>): Promise<T> => {
    asked += 1;
    try {
      return await ask();
    } finally {
      asked -= 1;
    }
  };
  /** Returns when nothing can happen any more before the clock moves. */
  const quiet = async (): Promise<void> => {
    for (let turns = 0; turns < 4; turns += 1) {
      await turn();
      if (asked > 0) turns = 0;
    }
  };
  return {
    clock,
    database: (real) => ({
      ...real,
      query: (sql, values) =>
        counted(() => real.query(sql.replaceAll('clock_timestamp()', `to_timestamp(${nowMs / 1000})`), values)),
    }),
    runUntil: async (ms) => {
      await quiet();
      for (;;) {
        const nextMs = Math.min(...sleepers.keys());
        if (nextMs > ms) break;
        nowMs = nextMs;
        const woken = sleepers.get(nextMs);
        sleepers.delete(nextMs);
        for (const wake of woken ?? []) wake();
        await quiet();
      }
      nowMs = ms;
    },
  };
}

/** A run of a job, by a machine. `endMs` is null until it has ended by itself: what is killed never does. */
export type FleetRun = { project: string; job: string; machine: string; startMs: number; endMs: number | null };

/** A project that machines share: its records are where each of them finds them, as in a bucket. */
export type FleetProject = SharedProject & { runOn: (machine: MachineParts) => WorkerProject; records: FakeProject };

type MachineParts = { name: string; clock: Clock };

/** Makes a project of a fleet, whose runs are added to `runs`. */
export function fleetProject(
  name: string,
  {
    time,
    schedule,
    work,
    runs,
  }: { time: FleetTime; schedule: WorkerProject['schedule']; work: FakeJob; runs: FleetRun[] },
): FleetProject {
  let present: Clock = time.clock;
  const clock: Clock = { ...time.clock, sleep: (ms, signal) => present.sleep(ms, signal) };
  const records = fakeProject(clock, schedule, { name, work });
  return {
    id: `id-${name}`,
    name,
    records,
    runOn: (machine) => ({
      ...records,
      run: async (job, signal) => {
        present = machine.clock;
        const run: FleetRun = { project: name, job, machine: machine.name, startMs: time.clock.now(), endMs: null };
        runs.push(run);
        await records.run(job, signal);
        run.endMs = time.clock.now();
      },
    }),
  };
}

/** A machine of a fleet. */
export type FleetMachine = {
  name: string;
  /** What its status page shows of all projects. */
  shown: () => readonly ProjectState[];
  /** The alerts that it has posted. */
  alerts: readonly string[];
  /** Nothing that it does has an effect any more, and nothing reaches it. */
  kill: () => void;
  /** It stands still, until the function that this returns is called. */
  stop: () => () => void;
  /** It gives all up. */
  close: () => Promise<void>;
};

/** Starts a machine. Fetching the state of a project and putting it away take a second each. */
export function startMachine(
  name: string,
  { time, real, projects }: { time: FleetTime; real: ClusterDatabase; projects: readonly FleetProject[] },
): FleetMachine {
  let standing: Promise<void> | undefined;
  const passed = async <T>(result: Promise<T>): Promise<T> => {
    const [settled] = await Promise.allSettled([result]);
    await standing;
    if (settled.status === 'rejected') throw settled.reason;
    return settled.value;
  };
  const clock: Clock = {
    ...time.clock,
    sleep: async (ms, signal) => {
      await passed(time.clock.sleep(ms, signal));
      // A machine that stood still has lost meanwhile what it held.
      signal?.throwIfAborted();
    },
  };
  const shared = time.database(real);
  const database: ClusterDatabase = {
    ...shared,
    query: async (sql, values) => {
      await standing;
      return passed(shared.query(sql, values));
    },
  };
  const { holdings, looks } = virtualHoldings(name, { clock, database });
  const copies = new Set<string>();
  const log = createLogger({ level: 'silent', isTerminal: false });
  let shown: readonly ProjectState[] = [];
  const alerts: string[] = [];
  const onAlert = ({ event, project, alert }: AlertChange): void =>
    void alerts.push(`${isoTime(time.clock.now())} ${event} ${project}: ${alert.kind}`);
  const worker = startWorker({ projects: [], clock, log, projectsAtOnce: 4, onAlert });
  const held = new Map<string, Holding>();
  const clustered = startClusterWorker({
    worker,
    database,
    holdings,
    clock,
    log,
    schema: 1,
    timing: clusterTiming,
    signal: new AbortController().signal,
    onLook: (all) => (shown = all),
    onAlert,
    projects: projects.map((project) => {
      const { id, runOn } = project;
      const work = runOn({ name, clock });
      const letGo = async (): Promise<void> => {
        await held.get(id)?.release();
        held.delete(id);
      };
      return {
        id,
        name: project.name,
        bare: work,
        hold: async () => {
          const holding = await holdings.take(project, 'worker');
          held.set(id, holding);
          copies.add(id);
          await clock.sleep(1000);
          return { work, ...holding };
        },
        giveUp: async () => {
          await clock.sleep(1000);
          copies.delete(id);
          await letGo();
        },
        lose: letGo,
        clear: () => Promise.resolve(void copies.delete(id)),
        hasCopy: () => copies.has(id),
      };
    }),
  });
  return {
    name,
    shown: () => shown,
    alerts,
    kill: () => {
      standing = new Promise(() => undefined);
    },
    stop: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      standing = promise;
      return () => {
        standing = undefined;
        // The first thing that a process does which goes on: its timers are over.
        looks();
        resolve();
      };
    },
    close: async () => {
      await worker.stop(60_000);
      await clustered.close();
    },
  };
}

/** Holdings as `openHoldings` makes them, by the same statements, without a thread: it could not live by this clock. */
function virtualHoldings(
  machine: string,
  { clock, database }: { clock: Clock; database: ClusterDatabase },
): { holdings: Holdings; looks: () => void } {
  const held = new Map<string, HeldRow & { lost: AbortController; sinceMs: number }>();
  const worker = { machine, process: machine, schema: 1 };
  const ending = new AbortController();
  let beatAtMs = 0;
  const lose = (id: string): void => {
    held.get(id)?.lost.abort(new AppError('another machine may hold the project', { code: 'busy' }));
    held.delete(id);
  };
  const looks = (): void => {
    for (const [id, { sinceMs }] of held) if (clock.now() - Math.max(sinceMs, beatAtMs) > (leaseMs * 2) / 3) lose(id);
  };
  const beat = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const began = clock.now();
      for (const { id, token } of await keepProjects(database, [...held.values()], worker, leaseMs))
        if (held.get(id)?.token === token) lose(id);
      await liveFurther(database, worker, leaseMs);
      beatAtMs = began;
      await clock.sleep(beatMs, ending.signal).catch(() => undefined);
    }
  };
  return {
    looks,
    holdings: {
      machine,
      take: async (project, purpose) => {
        const { id } = project;
        const sinceMs = clock.now();
        const taken = await takeProject(database, project, { machine, purpose, schema: 1, leaseMs });
        if (taken === null) throw new AppError('another machine holds it', { code: 'busy' });
        const { token } = taken;
        const lost = new AbortController();
        held.set(id, { ...project, purpose, token, lost, sinceMs });
        const release = async (): Promise<void> => {
          if (held.get(id)?.token !== token) return;
          held.delete(id);
          await freeProject(database, { id, token });
        };
        const check = (): void => lost.signal.throwIfAborted();
        const noteLedgerSize = (): Promise<void> => Promise.resolve();
        const lose = (): void => lost.abort(new AppError('another machine has taken it over', { code: 'busy' }));
        return { token, signal: lost.signal, check, lose, ledgerSize: 0, noteLedgerSize, release };
      },
      tellAble: (isAble) => tellAble(database, machine, isAble),
      want: (id, purpose) => wantProject(database, id, `${purpose} on ${machine}`),
      live: async () => {
        if (!(await beginToLive(database, worker, leaseMs)))
          throw new AppError(`another worker runs as the machine ${machine} at ${isoTime(clock.now())}`, {
            code: 'busy',
          });
        void beat();
      },
      close: async () => {
        ending.abort();
        await liveNoLonger(database, machine);
      },
    },
  };
}
