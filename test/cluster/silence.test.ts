import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openClusterDatabase, type ClusterDatabase } from '../../src/cluster/cluster-database.ts';
import { openHoldings } from '../../src/cluster/holdings.ts';
import { enrol, noteSilence, readRoster, tellStates } from '../../src/cluster/roster.ts';
import { clusterTiming } from '../../src/cluster/timing.ts';
import { AppError } from '../../src/core/errors.ts';
import { createLogger } from '../../src/log/logger.ts';
import type { ProjectState } from '../../src/job/worker-state.ts';
import type { AlertChange } from '../../src/worker/alerts.ts';
import { startClusterWorker } from '../../src/cluster/cluster-worker.ts';
import type { SharableProject } from '../../src/cluster/hold-projects.ts';
import type { Worker } from '../../src/worker/worker.ts';
import { freshDatabase, run } from './cluster-world.ts';

const shop = { id: 'p1', name: 'shop' };
const blog = { id: 'p2', name: 'blog' };
const ids = [shop.id, blog.id];

async function openDatabase() {
  const address = await freshDatabase();
  const database = openClusterDatabase(address);
  onTestFinished(() => database.close());
  await enrol(database, [shop, blog]);
  /** Lets time pass for a project. */
  const age = (id: string, minutes: number): Promise<unknown> =>
    run(
      address,
      `UPDATE analytics_mirror.projects SET state_at = state_at - $2 * interval '1 min', taken_at = taken_at - $2 * interval '1 min' WHERE id = $1`,
      [id, minutes],
    );
  const holdings = openHoldings({ database, address, machine: 'a', schema: 1 });
  onTestFinished(() => holdings.close());
  return { address, database, age, holdings };
}

test('a project is silent after three minutes without a word of a worker: not while a command works, not paused, not given up just now', async () => {
  const { address, database, age, holdings } = await openDatabase();
  const silentOnes = async (): Promise<string[]> =>
    (await readRoster(database)).projects.flatMap(({ name, isSilent }) => (isSilent ? [name] : []));
  expect(await silentOnes()).toEqual([]);
  await age('p1', 2);
  expect(await silentOnes()).toEqual([]);
  await age('p1', 2);
  expect(await silentOnes()).toEqual(['shop']);
  const command = await holdings.take(shop, 'sync');
  await age('p1', 60);
  expect(await silentOnes()).toEqual([]);
  await command.release();
  expect(await silentOnes()).toEqual([]);
  const { token } = await holdings.take(shop, 'worker');
  await tellStates(database, [{ id: 'p1', token, state: {} }]);
  await age('p1', 4);
  expect(await silentOnes()).toEqual(['shop']);
  await tellStates(database, [{ id: 'p1', token, state: {} }]);
  expect(await silentOnes()).toEqual([]);
  await age('p1', 4);
  await run(address, `UPDATE analytics_mirror.projects SET is_paused = true`);
  expect(await silentOnes()).toEqual([]);
});

test('of many machines that notice it at once, one is told that a project is silent, and one that it is no more', async () => {
  const { database, age, holdings } = await openDatabase();
  const told = async (): Promise<unknown[]> =>
    (await Promise.all(Array.from({ length: 6 }, () => noteSilence(database, ids)))).flat();
  expect(await told()).toEqual([]);
  await age('p1', 4);
  expect(await told()).toEqual([{ id: 'p1', schema: 0, isSilent: true }]);
  expect(await told()).toEqual([]);
  // A worker that takes it may still fail to open it.
  const failed = await holdings.take(shop, 'worker');
  expect(await told()).toEqual([]);
  await failed.release(true);
  expect(await told()).toEqual([]);
  const { token } = await holdings.take(shop, 'worker');
  await tellStates(database, [{ id: 'p1', token, state: {} }]);
  expect(await told()).toEqual([{ id: 'p1', schema: 1, isSilent: false }]);
  expect(await told()).toEqual([]);
});

test('workers post a silent project once; each says for itself that the database is away, and its page is red then', async () => {
  const { address, database, age } = await openDatabase();
  let isAway = false;
  let clockMs = 0;
  const changes: Omit<AlertChange, 'at'>[] = [];
  const shown = new Map<string, readonly ProjectState[]>();
  const cut: ClusterDatabase = {
    ...database,
    query: (...given) =>
      isAway ? Promise.reject(new AppError('away', { code: 'unreachable' })) : database.query(...given),
  };
  for (const machine of ['one', 'two']) {
    const holdings = openHoldings({ database, address, machine, schema: 1 });
    const refuse = (): Promise<never> => Promise.reject(new AppError('the key is another', { code: 'usage' }));
    const joined = startClusterWorker({
      worker: { state: () => ({ projects: [] }), isIdle: () => true } as unknown as Worker,
      database: cut,
      holdings,
      projects: [shop, blog].map(({ id, name }) => ({
        id,
        name,
        bare: { name, service: { baseUrl: null, projectId: null, keyFrom: '' }, dataDir: '' },
        hold: refuse,
      })) as unknown as SharableProject[],
      schema: 1,
      clock: { now: () => Date.now() + clockMs, sleep: (_ms, signal) => delay(50, undefined, { signal }) },
      log: createLogger({ level: 'silent', isTerminal: false }),
      timing: clusterTiming,
      signal: new AbortController().signal,
      onLook: (projects) => void shown.set(machine, projects),
      onAlert: ({ at: _at, ...change }) => void changes.push(change),
    });
    onTestFinished(async () => {
      isAway = false;
      await joined.close();
    });
  }
  const alertsOf = (machine: string): string[] =>
    (shown.get(machine) ?? []).flatMap(({ name, alerts }) => alerts.map(({ message }) => `${name}: ${message}`));
  const until = (isSo: () => void): Promise<void> => vi.waitFor(isSo, { timeout: 10_000, interval: 50 });
  await until(() => expect([...shown.keys()]).toHaveLength(2));
  await age('p1', 4);
  const message = 'shop: no machine has worked on it for 3 minutes; this machine cannot open it: the key is another';
  for (const machine of ['one', 'two']) await until(() => expect(alertsOf(machine)).toEqual([message]));
  expect(changes).toMatchObject([{ event: 'began', project: 'shop', alert: { kind: 'unattended', job: null } }]);
  // What no machine of this version has written: nothing of it is shown, and nothing ends by it.
  await run(address, `UPDATE analytics_mirror.projects SET state_at = clock_timestamp(), state = '{}'`);
  await until(() => expect(changes).toHaveLength(2));
  expect(changes[1]).toMatchObject({ event: 'ended', project: 'shop', alert: { kind: 'unattended', job: null } });
  const eventsSince = (index: number): string[] =>
    changes
      .slice(index)
      .map(({ event, project }) => `${project} ${event}`)
      .toSorted();
  // Without the database no machine can tell what the others do.
  isAway = true;
  await delay(300);
  expect(changes).toHaveLength(2);
  clockMs = 181_000;
  await until(() => expect(changes).toHaveLength(4));
  expect(eventsSince(2)).toEqual(['one began', 'two began']);
  expect(changes[3]?.alert.message).toContain('the database of the cluster has not answered');
  expect(alertsOf('one')).toHaveLength(2);
  isAway = false;
  await until(() => expect(changes).toHaveLength(6));
  expect(eventsSince(4)).toEqual(['one ended', 'two ended']);
  await until(() => expect(alertsOf('one')).toEqual([]));
}, 60_000);
