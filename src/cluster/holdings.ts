import { randomUUID } from 'node:crypto';
import process from 'node:process';
import { receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads';
import { AppError, usageError } from '../core/errors.ts';
import type { BeatTask, FromBeat, ToBeat } from './beat-thread.ts';
import type { ClusterDatabase } from './cluster-database.ts';
import {
  beginToLive,
  freeProject,
  liveNoLonger,
  noteLedgerSize,
  takeProject,
  tellAble,
  wantProject,
  type HeldToken,
  type SharedProject,
} from './holding-rows.ts';
import { short } from './tables.ts';
import { clusterTiming, type ClusterTiming } from './timing.ts';

/** A project that this process holds. */
export type Holding = {
  /** Which of all holdings of this project it is, in their order: a later one has a larger number. */
  token: number;
  /** Aborted with `busy` once another machine may hold the project. */
  signal: AbortSignal;
  /** Throws `busy` where another machine may hold the project, also before a timer could notice: a process may have slept. */
  check: () => void;
  /** Lets the project go: the bucket says that another machine has taken it over. */
  lose: () => void;
  /** How many entries its ledger has at least, as far as the database knows. */
  ledgerSize: number;
  /** Notes how many it has in the bucket now. */
  noteLedgerSize: (size: number) => Promise<void>;
  /** Lets other machines take the project. Does nothing where it is lost, unless the bucket alone says so. `isUnopened`: it could not be opened, and is as it was. */
  release: (isUnopened?: boolean) => Promise<void>;
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
  /** Says whether the worker of this machine can open projects: others count with it then. */
  tellAble: (isAble: boolean) => Promise<void>;
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

/** What this process holds, by project, and how it hears of the thread that keeps it. */
type Held = {
  /** `keptNs`: before the newest statement to the database that has taken or kept the project. */
  projects: Map<string, { token: number; lost: AbortController; keptNs: bigint; release: () => Promise<void> }>;
  port: MessagePort;
  /** A project is kept for so long after that. */
  graceNs: bigint;
};

/** The holdings of this process. A thread keeps them, so that a statement of a job that computes for minutes loses none. */
export function openHoldings({ database, address, machine, schema, timing = clusterTiming }: HoldingsSetup): Holdings {
  const { leaseMs } = timing;
  const own = randomUUID();
  const worker = { machine, process: own, schema };
  const { port1: port, port2 } = new MessageChannel();
  port.unref();
  const graceNs = BigInt(Math.ceil((leaseMs * 2) / 3)) * 1_000_000n;
  const held: Held = { projects: new Map(), port, graceNs };
  let thread: Worker | undefined;
  let timer: NodeJS.Timeout | undefined;
  const start = (): void => {
    if (thread) return;
    const workerData: BeatTask = { address, timing, port: port2, worker };
    thread = new Worker(new URL('./beat-thread.ts', import.meta.url), { workerData, transferList: [port2] });
    thread.unref();
    timer = setInterval(() => look(held), Math.min(1_000, leaseMs / 20));
    timer.unref();
  };
  return {
    machine,
    take: async (project, purpose) => {
      const { id } = project;
      start();
      const keptNs = process.hrtime.bigint();
      const taken = await takeProject(database, project, { machine, purpose, schema, leaseMs });
      if (!taken) throw await explainHeld(database, project, schema);
      const { token, ledgerSize, before } = taken;
      const lost = new AbortController();
      let isOvertaken = false;
      const release = async (isUnopened = false): Promise<void> => {
        // The bucket has said it, and the row may still name this machine: nobody could take the project until its lease ends.
        if (!isOvertaken && held.projects.get(id)?.token !== token) return;
        held.projects.delete(id);
        tell(held, { drop: id });
        await freeProject(database, { id, token }, isUnopened ? before : undefined);
      };
      held.projects.set(id, { token, lost, keptNs, release });
      tell(held, { keep: { ...project, token, purpose } });
      const check = (): void => {
        look(held);
        lost.signal.throwIfAborted();
      };
      const note = (size: number): Promise<void> => noteLedgerSize(database, { id, token }, size);
      const overtaken = (): void => {
        if (held.projects.get(id)?.token !== token) return;
        isOvertaken = true;
        lose(held, id, takenOver);
      };
      return { token, signal: lost.signal, check, lose: overtaken, ledgerSize, noteLedgerSize: note, release };
    },
    want: (id, purpose) => wantProject(database, id, `${purpose} on ${machine}`),
    live: async () => {
      if (!(await beginToLive(database, worker, leaseMs)))
        throw new AppError(`another worker runs as the machine ${machine}`, {
          code: 'busy',
          hint: 'give each machine a name of its own, in cluster.machine',
        });
      start();
      tell(held, { live: true });
    },
    tellAble: (isAble) => tellAble(database, own, isAble),
    close: async () => {
      // A project that cannot be given up is free once its time is over.
      await Promise.allSettled([...held.projects.values()].map(({ release }) => release()));
      clearInterval(timer);
      port.close();
      await thread?.terminate();
      // Last: a beat would say that the worker lives on.
      if (thread) await liveNoLonger(database, own).catch(() => undefined);
    },
  };
}

const takenOver = 'another machine has taken the project over';

/** Lets a project go that another machine may hold. */
function lose(held: Held, id: string, message: string): void {
  const hint = '`analytics-mirror cluster list` says which one';
  held.projects.get(id)?.lost.abort(new AppError(message, { code: 'busy', hint }));
  held.projects.delete(id);
  tell(held, { drop: id });
}

/** Notices what the thread has found, and how long ago it has last kept each project. */
function look(held: Held): void {
  const { projects, port, graceNs } = held;
  const of = ({ id, token }: HeldToken) => {
    const project = projects.get(id);
    return project?.token === token ? project : undefined;
  };
  for (let found = receiveMessageOnPort(port); found; found = receiveMessageOnPort(port)) {
    const { beganNs, kept, lost } = found.message as FromBeat;
    for (const project of kept.map(of)) if (project) project.keptNs = beganNs;
    for (const each of lost) if (of(each)) lose(held, each.id, takenOver);
  }
  const now = process.hrtime.bigint();
  for (const [id, { keptNs }] of projects)
    if (now - keptNs > graceNs)
      lose(held, id, 'the database of the cluster was not reached for too long: another machine may hold the project');
}

function tell({ port }: Held, message: ToBeat): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  port.postMessage(message);
}

/** Why a project cannot be taken. */
async function explainHeld(database: ClusterDatabase, { id, name }: SharedProject, schema: number): Promise<AppError> {
  const [row] = await database.query<{ machine: string | null; purpose: string; schema: number }>(
    /*sql*/ `SELECT ${short('machine')} AS machine, ${short('purpose')} AS purpose, schema FROM analytics_mirror.projects WHERE id = $1`,
    [id],
  );
  if (row && row.schema > schema)
    return usageError(
      `the project ${name} was written by a newer version of analytics-mirror`,
      'update the program on this machine',
    );
  const holder = row?.machine ? `${row.machine} holds it (${row.purpose})` : 'a command waits for it';
  return new AppError(`the project ${name} cannot be taken now: ${holder}`, {
    code: 'busy',
    hint: 'try again later, or add --wait',
  });
}
