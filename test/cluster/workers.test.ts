import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openClusterDatabase } from '../../src/cluster/cluster-database.ts';
import { readRoster, type Roster } from '../../src/cluster/roster.ts';
import type { ElsewhereReport } from '../../src/status/report-elsewhere.ts';
import { storeKeys } from '../bucket/real-store.ts';
import { runCli, startCli, type Ended, type Running } from '../cli/run-cli.ts';
import { openWorkspace, unlimited } from '../cli/workspace.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { freshDatabase } from './cluster-world.ts';
import { clusterKey, openStoreWorld } from './store-world.ts';

const projects = ['p0', 'p1', 'p2', 'p3'];

/** A cluster of real workers: each with a folder of its own, for four projects of one sandbox each, Postgres and a store. */
async function openWorkers() {
  const { place } = await openStoreWorld();
  const folder = freshFolder();
  const address = await freshDatabase();
  const services: Record<string, string>[] = [];
  for (const _project of projects) {
    const workspace = await openWorkspace({ persons: 20, recordings: 2, hostile: false });
    onTestFinished(() => workspace[Symbol.asyncDispose]());
    services.push(workspace.env);
  }
  const config = join(folder, 'mirror.json');
  writeFileSync(
    config,
    JSON.stringify({
      cluster: {
        storage: 's3://state/cluster',
        s3: { endpoint: place.endpoint, region: 'us-east-1', forcePathStyle: true },
      },
      status: { port: 0 },
      schedule: {
        full: '* * * * * *',
        head: null,
        recordings: null,
        export: null,
        reconcile: null,
        checkpoint: null,
        drill: null,
      },
      projects: projects.map((name, index) => ({
        name,
        service: { baseUrl: services[index]?.['MIRROR_BASE_URL'], projectId: '1' },
      })),
    }),
  );
  const envOf = (machine: string): Record<string, string> => ({
    ...storeKeys,
    MIRROR_API_KEY: services[0]?.['MIRROR_API_KEY'] ?? '',
    MIRROR_DATA_DIR: join(folder, machine),
    MIRROR_CLUSTER_MACHINE: machine,
    MIRROR_CLUSTER_DATABASE: address,
    MIRROR_CLUSTER_KEY: clusterKey.toString('hex'),
  });
  const database = openClusterDatabase(address);
  onTestFinished(() => database.close());
  const worker = (machine: string): Running => {
    const running = startCli(['run', '--config', config, ...unlimited], { env: envOf(machine), timeoutMs: 600_000 });
    onTestFinished(() => void running.child.kill('SIGKILL'));
    return running;
  };
  const on = (machine: string, ...args: string[]): Promise<Ended> =>
    runCli([...args, '--config', config, ...unlimited], { env: envOf(machine), timeoutMs: 300_000 });
  /** Waits until the cluster is so: how long that took, in seconds. */
  const until = async (
    isSo: (held: Record<string, string | null>, roster: Roster) => boolean | Promise<boolean>,
  ): Promise<number> => {
    const began = Date.now();
    for (;;) {
      const roster = await readRoster(database);
      const held = Object.fromEntries(roster.projects.map(({ name, holder }) => [name, holder]));
      if (roster.projects.length > 0 && (await isSo(held, roster))) return (Date.now() - began) / 1000;
      if (Date.now() - began > 180_000) throw new Error(`not so: ${JSON.stringify(roster)}`);
      await delay(200);
    }
  };
  const copyOf = (machine: string, project: string): boolean => existsSync(join(folder, machine, project, 'mirror.db'));
  return { worker, on, until, copyOf };
}

test('workers share projects, give them to commands and newcomers, take over what a killed one held, and leave nothing behind', async () => {
  const { worker, on, until, copyOf } = await openWorkers();
  const one = worker('one');
  await until((held) => projects.every((name) => held[name] === 'one'));
  // A newcomer gets its share; the copies go with it.
  const two = worker('two');
  const count = (held: Record<string, string | null>, machine: string): number =>
    projects.filter((name) => held[name] === machine).length;
  const shared = await until((held) => count(held, 'one') === 2 && count(held, 'two') === 2);
  // `status` elsewhere tells what the holder says, and leaves the project with it.
  await until(async () => {
    const { code, stdout } = await on('three', 'status', '--project', 'p1', '--json');
    const { said, ...report } = JSON.parse(stdout) as ElsewhereReport;
    expect([code, report]).toMatchObject([0, { project: 'p1', holder: { purpose: 'worker' }, isPaused: false }]);
    return said?.jobs.some(({ job }) => job === 'full') === true;
  });
  expect((await on('three', 'status', '--project', 'p1')).stdout).toMatch(
    /^p1 is held by (?:one|two) \(worker\) since .*\n.*\n(?:ALERT: .*\n)*\nrun does/,
  );
  // A command elsewhere works on a project that a worker holds, and the worker takes it back.
  const synced = await on('three', 'sync', '--project', 'p0', '--wait', '--json');
  expect(synced).toMatchObject({ code: 0 });
  expect(copyOf('three', 'p0')).toBe(false);
  await until((held) => held['p0'] === 'one' || held['p0'] === 'two');
  // A machine that is killed loses its projects within a minute.
  two.child.kill('SIGKILL');
  await two.ended;
  const taken = await until((held) => projects.every((name) => held[name] === 'one'));
  process.stdout.write(`shared after ${shared.toFixed(1)} s, taken over ${taken.toFixed(1)} s after the kill\n`);
  expect(taken).toBeLessThan(60);
  const listed = await on('three', 'cluster', 'list');
  expect(listed.stdout).toMatch(/two +gone/);
  // Stopped, a worker gives all up: nothing is left on its disk.
  one.child.kill('SIGTERM');
  expect(await one.ended).toMatchObject({ code: 0 });
  await until((held) => projects.every((name) => held[name] === null));
  for (const name of projects) expect([name, copyOf('one', name)]).toEqual([name, false]);
  for (const name of projects) {
    const { code, stdout, stderr } = await on('three', 'audit', 'verify', '--project', name);
    expect([name, code, code === 0 ? '' : stdout + stderr]).toEqual([name, 0, '']);
  }
}, 600_000);
