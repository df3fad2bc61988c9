import { onTestFinished, expect, it } from 'vitest';
import { freshPace } from '../../src/client/pace.ts';
import { memoryRequestTimes, type Kept } from '../../src/client/request-times.ts';
import { openClusterDatabase } from '../../src/cluster/cluster-database.ts';
import { openHoldings, type Holding } from '../../src/cluster/holdings.ts';
import { clusterOrders, enrol, readRoster, reportElsewhere } from '../../src/cluster/roster.ts';
import { sharedRequestTimes } from '../../src/cluster/shared-request-times.ts';
import { forgottenCopies, tellCopies } from '../../src/cluster/copy-rows.ts';
import { costOf } from '../bucket/hostile-run.ts';
import { emailsIn } from '../cli/erasure-workspace.ts';
import { openWorkspace } from '../cli/workspace.ts';
import { freshDatabase, run } from '../cluster/cluster-world.ts';
import { openMachines } from '../cluster/open-machines.ts';
import { clusterKey, hold, machineOf, openStoreWorld } from '../cluster/store-world.ts';
import { virtualClock } from '../core/virtual-clock.ts';

// Who can write any row of the cluster's database, and reaches neither the bucket nor a machine.

const shop = { id: 'p', name: 'shop' };
const timing = { beatMs: 200, leaseMs: 3_000 };

async function openCluster() {
  const address = await freshDatabase();
  const database = openClusterDatabase(address);
  onTestFinished(() => database.close());
  const open = (machine: string) => {
    const holdings = openHoldings({ database, address, machine, schema: 1, timing });
    onTestFinished(() => holdings.close());
    return holdings;
  };
  const write = (sql: string, ...values: unknown[]): Promise<unknown[]> =>
    run(address, sql.replaceAll('TABLE.', 'analytics_mirror.'), values);
  return { address, database, open, write };
}

const isLost = async ({ signal }: Holding): Promise<void> => {
  await expect.poll(() => signal.aborted, { timeout: timing.leaseMs, interval: 20 }).toBe(true);
};

/** A machine of the bucket that works by a holding. */
const by = ({ token, check, signal }: Holding, machine: string) => ({ holder: { machine, token }, check, signal });

it.each(['gives a project away', 'frees a project'])('%s', async (how) => {
  const { open, write } = await openCluster();
  const world = await openStoreWorld();
  const first = await open('one').take(shop, 'worker');
  const a = await hold(machineOf(world, 'one', by(first, 'one')));
  const opened = a.ledger();
  if (how.startsWith('gives')) {
    await write(`UPDATE TABLE.projects SET machine = 'nobody', token = token + 1`);
    await isLost(first);
    await expect(open('two').take(shop, 'worker')).rejects.toMatchObject({ code: 'busy' });
  }
  await write(`UPDATE TABLE.projects SET machine = NULL, held_until = NULL`);
  const second = await open('two').take(shop, 'worker');
  // Two hold it now, until the first one's next beat; the bucket takes from the second alone.
  const b = await hold(machineOf(world, 'two', by(second, 'two')));
  const drill = { type: 'drill', outcome: 'passed', steps: 1, report: 'a'.repeat(64) } as const;
  expect(() => opened.append([drill])).toThrow(expect.objectContaining({ code: 'busy' }));
  await expect(a.state.commit(a.db)).rejects.toMatchObject({ code: 'busy' });
  b.ledger().append([drill]);
  await isLost(first);
});

it('holds a project', async () => {
  const { open, write, database } = await openCluster();
  await enrol(database, [shop]);
  const until = (sql: string): Promise<unknown> =>
    write(
      `UPDATE TABLE.projects SET machine = 'nobody', purpose = 'worker', state_at = NULL, taken_at = clock_timestamp() - interval '1 hour', held_until = ${sql}`,
    );
  await until(`clock_timestamp() + interval '5 minutes'`);
  await expect(open('one').take(shop, 'worker')).rejects.toMatchObject({
    code: 'busy',
    message: 'the project shop cannot be taken now: nobody holds it (worker)',
  });
  // Each machine's page and alert say that nobody works on it.
  expect((await readRoster(database)).projects).toMatchObject([{ isSilent: true, holder: 'nobody' }]);
  for (const far of [`clock_timestamp() + interval '9 years'`, `'infinity'`]) {
    await until(far);
    await write(`UPDATE TABLE.projects SET wanted_by = 'nobody', wanted_until = ${far}, state_at = ${far}`);
    // What is said of a time that is to come does not hush the alert.
    expect((await readRoster(database)).projects).toMatchObject([{ isSilent: true, holder: null, wantedBy: null }]);
    await (await open('one').take(shop, 'worker')).release();
  }
  // Nor does a name that seems to be another's for ever keep a machine out.
  await write(`INSERT INTO TABLE.machines (name, process, live_until) VALUES ('two', 'x', 'infinity')`);
  await open('two').live();
});

it('changes tokens', async () => {
  const { open, write } = await openCluster();
  const first = await open('one').take(shop, 'worker');
  await write(`UPDATE TABLE.projects SET token = 1`);
  await isLost(first);
  await write(`UPDATE TABLE.projects SET held_until = NULL`);
  // The number comes from the clock, too: no holding has that of another.
  const second = await open('two').take(shop, 'worker');
  expect(second.token).toBeGreaterThan(first.token);
  await write(`UPDATE TABLE.projects SET token = 9223372036854775807`);
  await isLost(second);
  await write(`UPDATE TABLE.projects SET held_until = NULL`);
  await expect(open('three').take(shop, 'worker')).rejects.toMatchObject({
    code: 'storage',
    message: expect.stringMatching(/\(22003\)/) as string,
  });
});

it('changes the size of a ledger', async () => {
  const { open, write } = await openCluster();
  const world = await openStoreWorld();
  const held = await hold(machineOf(world, 'one'));
  await held.state.commit(held.db);
  await held.close();
  await (await open('one').take(shop, 'worker')).release();
  await write(`UPDATE TABLE.projects SET ledger_size = 9223372036854775807`);
  const { ledgerSize } = await open('two').take(shop, 'worker');
  await expect(hold(machineOf(world, 'two', { ledgerSize }))).rejects.toMatchObject({
    code: 'storage',
    message: expect.stringMatching(/the bucket is older than what the database of the cluster knows/) as string,
  });
});

it.each(['{}', '[]', '"x"', 'null', '{"name":{"toString":1}}', '1e400'])('writes odd rows: %s', async (state) => {
  const { write, database } = await openCluster();
  await enrol(database, [shop]);
  await write(`UPDATE TABLE.projects SET state = $1, state_at = clock_timestamp()`, state);
  expect(await reportElsewhere(database, shop)).toMatchObject({ project: 'shop', said: null });
});

it('writes endless rows', async () => {
  const workspace = await openWorkspace({ persons: 5, recordings: 0, hostile: false });
  onTestFinished(() => workspace[Symbol.asyncDispose]());
  const world = await openStoreWorld();
  const { on, startOn, address } = await openMachines(workspace, world);
  await on('one', ['sync']);
  const long = `repeat('x', 60000000)`;
  for (const sql of [
    `UPDATE analytics_mirror.projects SET state = to_jsonb(${long}), state_at = clock_timestamp(), home = ${long}, wanted_by = ${long}, wanted_until = clock_timestamp() + interval '1 hour'`,
    `INSERT INTO analytics_mirror.projects (id, name, machine, held_until) SELECT 'p' || n, n || ${long.replace('6', '1')}, 'm', clock_timestamp() + interval '5 minutes' FROM generate_series(1, 5) AS n`,
    `INSERT INTO analytics_mirror.projects (id, name, purpose) SELECT 'q' || n, 'n' || n, repeat('x', 1000) FROM generate_series(1, 100000) AS n`,
    `INSERT INTO analytics_mirror.copies SELECT 'q' || n, repeat('c', 1000) || n, 'm' || n, false FROM generate_series(1, 100000) AS n`,
    `INSERT INTO analytics_mirror.copies SELECT id, repeat('c', 1000) || n, repeat('m', 1000), true FROM analytics_mirror.projects CROSS JOIN generate_series(1, 20000) AS n WHERE length(id) = 32`,
    `INSERT INTO analytics_mirror.request_pace SELECT DISTINCT account, ${long} FROM analytics_mirror.request_times ON CONFLICT (account) DO UPDATE SET pace = excluded.pace`,
  ])
    await run(address, sql);
  for (const command of [['cluster', 'list'], ['status'], ['erase', 'list'], ['sync']]) {
    const { ended, cost } = await costOf(startOn('two', command));
    process.stdout.write(
      `${command.join(' ')}: ${ended.code}, ${Math.round(cost.megabytes)} MB, ${cost.seconds.toFixed(1)} s\n`,
    );
    expect(cost.megabytes, `it said ${ended.stderr}`).toBeLessThan(300);
    expect(ended.stderr).not.toContain('should not have happened');
  }
}, 300_000);

it('changes rows of copies', async () => {
  const { database, write } = await openCluster();
  const world = await openStoreWorld();
  await (await hold(machineOf(world, 'one'))).close();
  const held = await hold(machineOf(world, 'two'));
  await tellCopies(database, shop.id, held.state.others);
  await write(`DELETE FROM TABLE.copies`);
  const others = async (): Promise<unknown> =>
    held.state.otherCopies(held.ledger(), await forgottenCopies(database, shop.id));
  expect(await others()).toMatchObject([{ machine: 'one', isForgotten: false }]);
  // One that the ledger does not know is nobody's, also where it is forgotten.
  await write(`INSERT INTO TABLE.copies VALUES ('p', 'x', 'nobody', true)`);
  expect(await others()).toMatchObject([{ machine: 'one', isForgotten: false }]);
});

it('forgets a copy', async () => {
  const { database, write } = await openCluster();
  const world = await openStoreWorld();
  await (await hold(machineOf(world, 'one'))).close();
  const held = await hold(machineOf(world, 'two'));
  await tellCopies(database, shop.id, held.state.others);
  await write(`UPDATE TABLE.copies SET is_forgotten = true`);
  // No request waits for it any more. The ledger and each certificate from now on say so.
  const forgotten = await forgottenCopies(database, shop.id);
  expect(await held.state.otherCopies(held.ledger(), forgotten)).toMatchObject([{ machine: 'one', isForgotten: true }]);
  expect([...held.ledger().entries()].map(({ type }) => type)).toContain('copy_forgotten');
});

it('changes request times', async () => {
  const { database, write } = await openCluster();
  const kept: Kept = { ms: 3_600_000, requests: { general: 1, 'recordings list': 1 } };
  const own = memoryRequestTimes(virtualClock(), kept);
  const times = sharedRequestTimes(database, { account: 'a', timeoutMs: 1_000 }, kept, own);
  const isFull = async (): Promise<boolean> => (await times.read()).ends.general.length > 0;
  await times.tryToBegin('general', () => 0);
  expect(await isFull()).toBe(true);
  // More requests than the budget has.
  await write(`DELETE FROM TABLE.request_times`);
  expect(await isFull()).toBe(false);
  // None at all: a request seems to be under way for ever. It is never later than now.
  await write(
    `INSERT INTO TABLE.request_times (account, lane, ended_at_ms, under_way_ms) VALUES ('a', 'general', 9e18, 8e18)`,
  );
  const { nowMs, ends } = await times.read();
  expect(ends.general).toEqual([nowMs]);
  await write(`INSERT INTO TABLE.request_pace VALUES ('a', '{"x":1}')`);
  expect((await times.read()).pace).toEqual(freshPace);
});

it('pauses and drains', async () => {
  const { database, open } = await openCluster();
  const one = open('one');
  await one.live();
  await enrol(database, [shop]);
  const orders = clusterOrders(database);
  await orders.drain('one');
  await orders.pause('shop', true);
  await expect(one.take(shop, 'worker')).rejects.toMatchObject({ code: 'busy' });
  // Commands work on it all the same. Nothing alerts: it is what an operator can say.
  await (await one.take(shop, 'sync')).release();
  expect(await readRoster(database)).toMatchObject({
    projects: [{ isPaused: true, isSilent: false }],
    machines: [{ isDraining: true }],
  });
});

it('reads all', async () => {
  const workspace = await openWorkspace({ persons: 5, recordings: 2, hostile: false });
  onTestFinished(() => workspace[Symbol.asyncDispose]());
  const { on, address } = await openMachines(workspace, await openStoreWorld());
  await on('one', ['sync']);
  const living = [...workspace.sandbox.living()];
  const request = ['--basis', 'objection', '--by', 'the-test', '--keep-events'];
  await on('one', ['erase', 'add', '--uuid', living[0]?.uuid ?? '', ...request]);
  await on('one', ['reconcile']);
  const tables = ['projects', 'machines', 'copies', 'request_times', 'request_pace'];
  const rows = await Promise.all(tables.map((name) => run(address, `SELECT * FROM analytics_mirror.${name}`)));
  const all = JSON.stringify(rows);
  // Machines, projects, times, how many entries a ledger has; no person and no key.
  expect(all).toContain('"machine":');
  for (const { uuid, distinct_ids: ids, properties } of living)
    for (const text of [uuid, ...ids, ...emailsIn(properties)]) expect(all).not.toContain(text);
  for (const secret of [workspace.sandbox.apiKey, clusterKey.toString('hex')]) expect(all).not.toContain(secret);
});
