import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { openClusterDatabase, type ClusterDatabase } from '../../src/cluster/cluster-database.ts';
import { readRoster, type Roster } from '../../src/cluster/roster.ts';
import { storeKeys } from '../bucket/real-store.ts';
import { runCli, startCli, type Ended, type Running } from '../cli/run-cli.ts';
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
};

/** Which machine holds each project, by its name. */
export type Held = Record<string, string | null>;

/** A cluster of real workers: Postgres, a store, and machines with a folder each. */
export type Workers = {
  folder: string;
  store: StoreWorld;
  database: ClusterDatabase;
  /** Starts the worker of a machine. */
  worker: (machine: string) => Running;
  /** Runs a command on a machine. */
  on: (machine: string, ...args: string[]) => Promise<Ended>;
  /** Waits until the cluster is so: how long that took, in seconds. */
  until: (isSo: (held: Held, roster: Roster) => boolean | Promise<boolean>, withinMs?: number) => Promise<number>;
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

/** Starts Postgres' database and the store of a cluster; its machines are started by the test. */
export async function openWorkers({ projects, apiKey, settings = {}, flags = [] }: WorkersSetup): Promise<Workers> {
  const store = await openStoreWorld();
  const folder = freshFolder();
  const address = await freshDatabase();
  const config = join(folder, 'mirror.json');
  const s3 = { endpoint: store.place.endpoint, region: 'us-east-1', forcePathStyle: true };
  writeFileSync(
    config,
    JSON.stringify({ cluster: { storage: 's3://state/cluster', s3 }, status: { port: 0 }, projects, ...settings }),
  );
  const envOf = (machine: string): Record<string, string> => ({
    ...storeKeys,
    MIRROR_API_KEY: apiKey,
    MIRROR_DATA_DIR: join(folder, machine),
    MIRROR_CLUSTER_MACHINE: machine,
    MIRROR_CLUSTER_DATABASE: address,
    MIRROR_CLUSTER_KEY: clusterKey.toString('hex'),
  });
  const database = openClusterDatabase(address);
  onTestFinished(() => database.close());
  const around = (machine: string, timeoutMs: number) => ({ env: envOf(machine), timeoutMs });
  return {
    folder,
    store,
    database,
    worker: (machine) => {
      const running = startCli(['run', '--config', config, ...flags], around(machine, 2_400_000));
      onTestFinished(async () => {
        running.child.kill('SIGKILL');
        await running.ended;
      });
      return running;
    },
    on: (machine, ...args) => runCli([...args, '--config', config, ...flags], around(machine, 300_000)),
    until: async (isSo, withinMs = 180_000) => {
      const began = Date.now();
      for (;;) {
        const roster = await readRoster(database);
        const held = Object.fromEntries(roster.projects.map(({ name, holder }) => [name, holder]));
        if (roster.projects.length > 0 && (await isSo(held, roster))) return (Date.now() - began) / 1000;
        if (Date.now() - began > withinMs) throw new Error(`not so: ${JSON.stringify(roster)}`);
        await delay(200);
      }
    },
    copyOf: (machine, project) => existsSync(join(folder, machine, project, 'mirror.db')),
  };
}
