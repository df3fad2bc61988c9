import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { openClusterDatabase, type ClusterDatabase } from '../../src/cluster/cluster-database.ts';
import { readRoster, type Roster } from '../../src/cluster/roster.ts';
import { storeKeys } from '../bucket/real-store.ts';
import { mainScript, startScript, type Ended, type Running } from '../cli/run-cli.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { freshDatabase } from './cluster-world.ts';
import { clusterKey, openStoreWorld, type StoreWorld } from './store-world.ts';

/** What the workers of a test work on. `settings`: any of the configuration, beside the projects and the store. */
export type WorkersSetup = {
  projects: readonly { name: string; service: { baseUrl: string; projectId: string } }[];
  apiKey: string;
  settings?: Record<string, unknown>;
  /** Flags of each command. */
  flags?: readonly string[];
  /** The environment of each machine, beside what a cluster needs. */
  env?: Record<string, string>;
  /** How long a worker, any other command, and a wait may take, in milliseconds. */
  limitsMs?: { worker: number; command: number; wait: number };
};

/** How a machine differs from the others: its environment, its ways to Postgres and the store, and the program that it runs. */
export type Ways = { env?: Record<string, string>; database?: string; endpoint?: string; main?: string };

/** Which machine holds each project, by its name. */
export type Held = Record<string, string | null>;

/** A cluster of real workers: Postgres, a store, and machines with a folder each. */
export type Workers = {
  store: StoreWorld;
  /** The database, and its address. */
  database: ClusterDatabase;
  address: string;
  /** The data folder of a machine, with a folder for each project that it has. */
  folderOf: (machine: string) => string;
  /** Starts a command on a machine. It is killed where it outlives its test. */
  start: (machine: string, args: readonly string[], ways?: Ways) => Running;
  /** Starts the worker of a machine. */
  worker: (machine: string, ways?: Ways) => Running;
  /** Runs a command on a machine to its end. */
  on: (machine: string, args: readonly string[], ways?: Ways) => Promise<Ended>;
  /** Waits until the cluster is so: how long that took, in seconds. Fails with what the newest commands have logged. */
  until: (
    what: string,
    isSo: (roster: Roster, held: Held) => boolean | Promise<boolean>,
    withinMs?: number,
  ) => Promise<number>;
  /** Whether a machine has a copy of a project. */
  copyOf: (machine: string, project: string) => boolean;
};

/** A schedule with no job. */
export const noJobs = {
  full: null,
  head: null,
  recordings: null,
  playlists: null,
  export: null,
  reconcile: null,
  checkpoint: null,
  drill: null,
};

const usualLimitsMs = { worker: 2_400_000, command: 300_000, wait: 180_000 };

/** Starts Postgres' database and the store of a cluster; its machines are started by the test. */
export async function openWorkers({
  projects,
  apiKey,
  settings,
  flags = [],
  env = {},
  limitsMs = usualLimitsMs,
}: WorkersSetup): Promise<Workers> {
  const store = await openStoreWorld();
  const folder = freshFolder();
  const address = await freshDatabase();
  const database = openClusterDatabase(address);
  onTestFinished(() => database.close());
  const config = join(folder, 'mirror.json');
  const s3 = { endpoint: store.place.endpoint, region: 'us-east-1', forcePathStyle: true };
  writeFileSync(
    config,
    JSON.stringify({ cluster: { storage: 's3://state/cluster', s3 }, status: { port: 0 }, projects, ...settings }),
  );
  const folderOf = (machine: string): string => join(folder, machine);
  const started: Running[] = [];
  const start: Workers['start'] = (machine, args, ways = {}) => {
    const endpoint = ways.endpoint === undefined ? [] : ['--set', `cluster.s3.endpoint=${ways.endpoint}`];
    const given = [...args, '--config', config, '--data-dir', folderOf(machine), ...flags, ...endpoint];
    const running = startScript(ways.main ?? mainScript, given, {
      timeoutMs: args[0] === 'run' ? limitsMs.worker : limitsMs.command,
      env: {
        ...storeKeys,
        MIRROR_API_KEY: apiKey,
        MIRROR_CLUSTER_MACHINE: machine,
        MIRROR_CLUSTER_DATABASE: ways.database ?? address,
        MIRROR_CLUSTER_KEY: clusterKey.toString('hex'),
        ...env,
        ...ways.env,
      },
    });
    started.push(running);
    onTestFinished(async () => {
      running.child.kill('SIGKILL');
      await running.ended;
    });
    return running;
  };
  const lastWords = async (): Promise<string> => {
    for (const { child } of started) child.kill('SIGKILL');
    const ended = await Promise.all(started.slice(-4).map((running) => running.ended));
    return ended.map(({ stderr }) => stderr.slice(-2500)).join('\n---\n');
  };
  return {
    store,
    database,
    address,
    folderOf,
    start,
    worker: (machine, ways) => start(machine, ['run'], ways),
    on: (machine, args, ways) => start(machine, args, ways).ended,
    until: async (what, isSo, withinMs = limitsMs.wait) => {
      const began = Date.now();
      for (;;) {
        const roster = await readRoster(database);
        const held = Object.fromEntries(roster.projects.map(({ name, holder }) => [name, holder]));
        if (roster.projects.length > 0 && (await isSo(roster, held))) return (Date.now() - began) / 1000;
        if (Date.now() - began > withinMs)
          throw new Error(`not so: ${what}: ${JSON.stringify(roster)}\n${await lastWords()}`);
        await delay(100);
      }
    },
    copyOf: (machine, project) => existsSync(join(folderOf(machine), project, 'mirror.db')),
  };
}

/** Ends workers as an operator does. Fails where one ends otherwise than well. */
export async function stopAll(workers: readonly Running[]): Promise<void> {
  for (const { child } of workers) child.kill('SIGTERM');
  for (const { ended } of workers) {
    const { code, stderr } = await ended;
    if (code !== 0 || stderr.includes('unexpected')) throw new Error(`ended with ${code}: ${stderr.slice(-3000)}`);
  }
}
