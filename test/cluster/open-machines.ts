import { join } from 'node:path';
import { expect } from 'vitest';
import { runCli, startCli, type Ended, type Running } from '../cli/run-cli.ts';
import { unlimited, type Workspace } from '../cli/workspace.ts';
import { storeKeys } from '../bucket/real-store.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { freshDatabase } from './cluster-world.ts';
import { clusterKey, type StoreWorld } from './store-world.ts';

/** Runs a command on a machine of a cluster, in a folder of its own, and expects an exit code. */
type Machines = (machine: string, args: readonly string[], code?: number) => Promise<{ json: unknown; ended: Ended }>;

/** Machines of one cluster, on which a test runs one command after another; no worker runs. `address`: that of their database. */
export async function openMachines(
  workspace: Workspace,
  world: { place: Pick<StoreWorld['place'], 'endpoint'> },
): Promise<{
  on: Machines;
  startOn: (machine: string, args: readonly string[], more?: Record<string, string>) => Running;
  folderOf: (machine: string) => string;
  address: string;
}> {
  const folder = freshFolder();
  const database = await freshDatabase();
  const folderOf = (machine: string): string => join(folder, machine);
  return {
    folderOf,
    address: database,
    startOn: (machine, args, more = {}) => {
      const { command, env } = commandOn(machine, args);
      return startCli(command, { env: { ...env, ...more }, timeoutMs: 300_000 });
    },
    on: async (machine, args, code = 0) => {
      const { command, env } = commandOn(machine, args);
      const ended = await runCli(command, { env, timeoutMs: 300_000 });
      expect(
        ended.code,
        `${args.join(' ')} on ${machine}: ${ended.stdout.slice(-1500)}${ended.stderr.slice(-3000)}`,
      ).toBe(code);
      return { json: JSON.parse(ended.stdout) as unknown, ended };
    },
  };

  function commandOn(machine: string, args: readonly string[]): { command: string[]; env: Record<string, string> } {
    const set = [
      `cluster.storage=s3://state/cluster`,
      `cluster.s3.endpoint=${world.place.endpoint}`,
      'cluster.s3.region=us-east-1',
      'cluster.s3.forcePathStyle=true',
      'deletions.confirmAfterSeconds=0',
      'deletions.collectHours=0',
      'export.partRows=50',
    ].flatMap((setting) => ['--set', setting]);
    const env = {
      ...workspace.env,
      ...storeKeys,
      MIRROR_DATA_DIR: folderOf(machine),
      MIRROR_CLUSTER_MACHINE: machine,
      MIRROR_CLUSTER_DATABASE: database,
      MIRROR_CLUSTER_KEY: clusterKey.toString('hex'),
    };
    return { command: [...args, '--json', ...unlimited, ...set], env };
  }
}
