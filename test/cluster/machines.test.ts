import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { runCli, type Ended } from '../cli/run-cli.ts';
import { openWorkspace, unlimited, type Workspace } from '../cli/workspace.ts';
import { storeKeys } from '../bucket/real-store.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { freshDatabase } from './cluster-world.ts';
import { clusterKey, openStoreWorld, type StoreWorld } from './store-world.ts';

/** Runs a command on a machine of a cluster, in a folder of its own, and expects an exit code. */
type Machines = (machine: string, args: readonly string[], code?: number) => Promise<{ json: unknown; ended: Ended }>;

async function openMachines(
  workspace: Workspace,
  world: StoreWorld,
): Promise<{ on: Machines; folderOf: (machine: string) => string }> {
  const folder = freshFolder();
  const database = await freshDatabase();
  const folderOf = (machine: string): string => join(folder, machine);
  return {
    folderOf,
    on: async (machine, args, code = 0) => {
      const set = [
        `cluster.storage=s3://state/cluster`,
        `cluster.s3.endpoint=${world.place.endpoint}`,
        'cluster.s3.region=us-east-1',
        'cluster.s3.forcePathStyle=true',
        'deletions.confirmAfterSeconds=0',
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
      const ended = await runCli([...args, '--json', ...unlimited, ...set], { env, timeoutMs: 300_000 });
      expect(
        ended.code,
        `${args.join(' ')} on ${machine}: ${ended.stdout.slice(-1500)}${ended.stderr.slice(-3000)}`,
      ).toBe(code);
      return { json: JSON.parse(ended.stdout) as unknown, ended };
    },
  };
}

it('a person is erased by several machines in turn: the ledger, the certificate and the bucket say so', async () => {
  const world = await openStoreWorld();
  await using workspace = await openWorkspace({ persons: 60, recordings: 10, hostile: false });
  const { on, folderOf } = await openMachines(workspace, world);
  await on('one', ['sync']);
  // What a command has fetched goes with it.
  expect(readdirSync(folderOf('one'))).toEqual([]);
  await on('two', ['export']);
  const people = await on('three', ['query', 'SELECT uuid, name FROM persons WHERE length(name) > 5 LIMIT 1']);
  const [[uuid, name]] = z.object({ rows: z.tuple([z.tuple([z.string(), z.string()])]) }).parse(people.json).rows;
  await on('one', ['erase', 'add', '--uuid', uuid, '--basis', 'objection', '--by', 'the-test', '--keep-events']);
  const list = await on('two', ['erase', 'list']);
  const [{ id }] = z.object({ requests: z.tuple([z.object({ id: z.string() })]) }).parse(list.json).requests;
  await on('two', ['reconcile']);
  await on('three', ['reconcile']);
  const certificate = await on('one', ['audit', 'certificate', id]);
  expect(JSON.stringify(certificate.json)).toMatch(
    /"machines":\["one","two"\][^{}]*"target":"copies"|"target":"copies"[^{}]*"machines":\["one","two"\]/,
  );
  await on('four', ['audit', 'verify']);
  const { json: found } = await on('four', ['query', `SELECT count(*) FROM persons WHERE uuid = '${uuid}'`]);
  expect(found).toMatchObject({ rows: [[0]] });
  const everything = await world.everything();
  expect(everything.filter(({ key }) => key.includes('/state/'))).toHaveLength(2);
  for (const { key, bytes } of everything) {
    expect([key, bytes.includes(uuid), bytes.includes(name)]).toEqual([key, false, false]);
  }
  expect(existsSync(join(folderOf('one'), 'mirror.db'))).toBe(false);
}, 600_000);
