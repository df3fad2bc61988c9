import { randomUUID } from 'node:crypto';
import process from 'node:process';
import { receiveMessageOnPort, Worker } from 'node:worker_threads';
import { AppError } from '../core/errors.ts';
import type { BeatTask, FromBeat, ToBeat } from './beat-thread.ts';
import type { ClusterDatabase } from './cluster-database.ts';
import { isHeld, madeTables } from './tables.ts';
import { clusterTiming, type ClusterTiming } from './timing.ts';

/** A project as all machines name it: `id` is a digest of the service's address and the project there. */
export type SharedProject = { id: string; name: string };

/** A project that this process holds. */
export type Holding = {
  /** Which of all holdings of this project it is, in their order: a later one has a larger number. */
  token: number;
  /** Aborted with `busy` once another machine may hold the project. */
  signal: AbortSignal;
  /** Throws `busy` where another machine may hold the project, also before a timer could notice: a process may have slept. */
  check: () => void;
  /** Lets other machines take the project. Does nothing where it is lost. */
  release: () => Promise<void>;
};

/** Takes projects for one machine, and keeps them. */
export type Holdings = {
  machine: string;
  /** Takes a project for `worker`, or for a command by its words. Rejects with `busy` while another process holds it, with `usage` where a newer version has written it. */
  take: (project: SharedProject, purpose: string) => Promise<Holding>;
  /** Asks for a project: the worker that holds it gives it up after its present job. Holds for 15 seconds, so it is said again. */
  want: (id: string, purpose: string) => Promise<void>;
  /** Says that a worker of this machine lives. Rejects with `busy` while another process of this name does. */
  live: () => Promise<void>;
  /** Gives up all that is held, and stops beating. */
  close: () => Promise<void>;
};

/** What makes holdings. `schema` is the version of the mirror's schema that this program writes. */
export type HoldingsSetup = {
  database: ClusterDatabase;
  address: string;
  machine: string;
  schema: number;
  timing?: ClusterTiming;
};

const takeIt = /*sql*/ `UPDATE analytics_mirror.projects SET token = token + 1, machine = $3, purpose = $4, name = $2,
    held_until = clock_timestamp() + $5 * interval '1 ms', taken_at = clock_timestamp(), schema = greatest(schema, $6),
    wanted_by = NULL, wanted_until = NULL, home = CASE WHEN $4 = 'worker' AND home <> $3 THEN NULL ELSE home END
  WHERE id = $1 AND NOT ${isHeld} AND schema <= $6
    AND ($4 <> 'worker' OR NOT is_paused AND coalesce(wanted_until < clock_timestamp(), true))
  RETURNING token`;
const freeIt = /*sql*/ `UPDATE analytics_mirror.projects SET machine = NULL, purpose = NULL, held_until = NULL
  WHERE id = $1 AND token = $2`;
const wantIt = /*sql*/ `UPDATE analytics_mirror.projects SET wanted_by = $2,
    wanted_until = clock_timestamp() + interval '15 seconds'
  WHERE id = $1`;
const liveNow = /*sql*/ `INSERT INTO analytics_mirror.machines (name, process, live_until)
    VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
  ON CONFLICT (name) DO UPDATE SET process = $2, live_until = excluded.live_until, is_draining = false
    WHERE machines.process = $2 OR machines.live_until < clock_timestamp()
  RETURNING name`;
const liveNoMore = /*sql*/ `UPDATE analytics_mirror.machines SET live_until = clock_timestamp() WHERE process = $1`;

/** The holdings of this process. A thread keeps them, so that a statement of a job that computes for minutes loses none. */
export function openHoldings({ database, address, machine, schema, timing = clusterTiming }: HoldingsSetup): Holdings {
  const { leaseMs } = timing;
  const own = randomUUID();
  const graceNs = BigInt(Math.ceil((leaseMs * 2) / 3)) * 1_000_000n;
  const held = new Map<
    string,
    { token: number; lost: AbortController; takenNs: bigint; release: () => Promise<void> }
  >();
  const beat = new BigInt64Array(new SharedArrayBuffer(8));
  let thread: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;
  const { port1: port, port2 } = new MessageChannel();
  port.unref();
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  const tell = (message: ToBeat): void => port.postMessage(message);

  const lose = (id: string, message: string): void => {
    held
      .get(id)
      ?.lost.abort(new AppError(message, { code: 'busy', hint: '`analytics-mirror cluster list` says which one' }));
    held.delete(id);
    tell({ drop: id });
  };
  /** Notices what the thread has found, and how long ago it has last reached the database. */
  const look = (): void => {
    for (let found = receiveMessageOnPort(port); found; found = receiveMessageOnPort(port)) {
      const { lost, token } = found.message as FromBeat;
      if (held.get(lost)?.token === token) lose(lost, 'another machine has taken the project over');
    }
    const now = process.hrtime.bigint();
    const lastNs = Atomics.load(beat, 0);
    for (const [id, { takenNs }] of held)
      if (now - (takenNs > lastNs ? takenNs : lastNs) > graceNs)
        lose(id, 'the database of the cluster was not reached for too long: another machine may hold the project');
  };
  const start = (): void => {
    if (thread) return;
    const workerData: BeatTask = { address, timing, beat, port: port2 };
    thread = new Worker(new URL('./beat-thread.ts', import.meta.url), { workerData, transferList: [port2] });
    thread.unref();
    timer = setInterval(look, Math.min(1_000, leaseMs / 20));
    timer.unref();
  };
  const explain = async ({ id, name }: SharedProject): Promise<AppError> => {
    const [row] = await database.query<{ machine: string | null; purpose: string; schema: number; seconds: number }>(
      /*sql*/ `SELECT machine, purpose, schema, extract(epoch FROM clock_timestamp() - taken_at)::int AS seconds
        FROM analytics_mirror.projects WHERE id = $1`,
      [id],
    );
    if (row && row.schema > schema)
      return new AppError(`the project ${name} was written by a newer version of analytics-mirror`, {
        code: 'usage',
        hint: 'update the program on this machine',
      });
    const holder = row?.machine ? `${row.machine} holds it (${row.purpose})` : 'a command waits for it';
    return new AppError(`the project ${name} cannot be taken now: ${holder}`, {
      code: 'busy',
      hint: 'try again later, or add --wait',
    });
  };
  return {
    machine,
    take: async (project, purpose) => {
      const { id, name } = project;
      await madeTables(database);
      start();
      await database.query(
        /*sql*/ `INSERT INTO analytics_mirror.projects (id, name) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`,
        [id, name],
      );
      const takenNs = process.hrtime.bigint();
      const [row] = await database.query<{ token: string }>(takeIt, [id, name, machine, purpose, leaseMs, schema]);
      if (!row) throw await explain(project);
      const token = Number(row.token);
      const lost = new AbortController();
      const release = async (): Promise<void> => {
        if (held.get(id)?.token !== token) return;
        held.delete(id);
        tell({ drop: id });
        await database.query(freeIt, [id, token]);
      };
      held.set(id, { token, lost, takenNs, release });
      tell({ keep: id, token });
      const check = (): void => {
        look();
        lost.signal.throwIfAborted();
      };
      return { token, signal: lost.signal, check, release };
    },
    want: async (id, purpose) => {
      await database.query(wantIt, [id, `${purpose} on ${machine}`]);
    },
    live: async () => {
      await madeTables(database);
      const [row] = await database.query(liveNow, [machine, own, leaseMs]);
      if (!row)
        throw new AppError(`another worker runs as the machine ${machine}`, {
          code: 'busy',
          hint: 'give each machine a name of its own, in cluster.machine',
        });
      start();
      tell({ live: own });
    },
    close: async () => {
      // A project that cannot be given up is free once its time is over.
      await Promise.allSettled([...held.values()].map(({ release }) => release()));
      if (thread) await database.query(liveNoMore, [own]).catch(() => undefined);
      clearInterval(timer);
      port.close();
      await thread?.terminate();
    },
  };
}
