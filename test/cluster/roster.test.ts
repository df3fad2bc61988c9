import { expect, onTestFinished, test } from 'vitest';
import { openClusterDatabase } from '../../src/cluster/cluster-database.ts';
import { forgottenCopies, tellCopies } from '../../src/cluster/copy-rows.ts';
import { openHoldings, type Holdings } from '../../src/cluster/holdings.ts';
import { sharedProject } from '../../src/cluster/cluster-home.ts';
import { clusterOrders, enrol, readRoster, readStates, refuseNamesake, tellStates } from '../../src/cluster/roster.ts';
import { runCli } from '../cli/run-cli.ts';
import { freshDatabase } from './cluster-world.ts';

const shop = { id: 'p1', name: 'shop' };
const blog = { id: 'p2', name: 'blog' };

async function openCluster() {
  const address = await freshDatabase();
  const database = openClusterDatabase(address);
  const all: Holdings[] = [];
  onTestFinished(async () => {
    for (const holdings of all) await holdings.close();
    await database.close();
  });
  const machine = (name: string): Holdings => {
    const holdings = openHoldings({ database, address, machine: name, schema: 1 });
    all.push(holdings);
    return holdings;
  };
  await enrol(database, [shop, blog]);
  return { address, database, machine, orders: clusterOrders(database) };
}

const left = (machine: string) => ({ id: `copy-on-${machine}`, machine, isForgotten: false });

test('a project whose service has moved is the same, and one of another service does not take its name', async () => {
  const [former, present] = ['https://old.example.com', 'https://new.example.com'];
  const shared = (baseUrl: string, movedFrom: string | null) =>
    sharedProject('shop', { baseUrl, movedFrom, projectId: '1' });
  expect(shared(present, former)).toEqual(shared(former, null));
  const { database, machine } = await openCluster();
  const other = shared(present, null);
  await refuseNamesake(database, other);
  await (await machine('a').take(shop, 'worker')).noteLedgerSize(3);
  await refuseNamesake(database, shop);
  const refused = { code: 'usage', hint: expect.stringContaining('service.movedFrom') };
  await expect(refuseNamesake(database, other)).rejects.toMatchObject(refused);
});

test('the roster has every project with its holder, and every machine with what it holds and copies', async () => {
  const { database, machine } = await openCluster();
  const a = machine('a');
  await a.live();
  await a.take(shop, 'worker');
  await machine('b').want('p1', 'sync');
  await tellCopies(database, 'p1', [left('a')]);
  await tellCopies(database, 'p2', [left('gone')]);
  const { at, projects, machines, copies } = await readRoster(database);
  expect(at).toMatch(/Z$/);
  expect(projects).toMatchObject([
    { name: 'blog', token: 0, holder: null, purpose: null, since: null, wantedBy: null },
    {
      name: 'shop',
      token: expect.any(Number),
      holder: 'a',
      purpose: 'worker',
      since: expect.any(String),
      wantedBy: 'sync on b',
    },
  ]);
  expect(machines).toEqual([
    { name: 'a', isLive: true, isDraining: false, schema: 1, isAble: true, projects: 1, copies: 1 },
    { name: 'gone', isLive: false, isDraining: false, schema: 0, isAble: true, projects: 0, copies: 1 },
  ]);
  expect(copies).toEqual([
    { project: 'blog', machine: 'gone', copy: 'copy-on-gone' },
    { project: 'shop', machine: 'a', copy: 'copy-on-a' },
  ]);
  // What is gone is told no more.
  await tellCopies(database, 'p1', []);
  expect((await readRoster(database)).copies).toHaveLength(1);
});

test('a machine that says it can open nothing is seen so, until it can or its worker starts again', async () => {
  const { database, machine } = await openCluster();
  const a = machine('a');
  const isAble = async (): Promise<boolean | undefined> => (await readRoster(database)).machines[0]?.isAble;
  await a.live();
  await a.tellAble(false);
  expect(await isAble()).toBe(false);
  await a.tellAble(true);
  expect(await isAble()).toBe(true);
  await a.tellAble(false);
  await a.live();
  expect(await isAble()).toBe(true);
});

test('what a holder says of a project is seen by all; what a former holder says is not', async () => {
  const { database, machine } = await openCluster();
  const { token, release } = await machine('a').take(shop, 'worker');
  await tellStates(database, [{ id: 'p1', token, state: { jobs: [1] } }]);
  const [first] = await readStates(database, ['p1'], null);
  expect(first).toMatchObject({ id: 'p1', state: { jobs: [1] } });
  expect(await readStates(database, ['p1'], first?.at ?? '')).toEqual([]);
  await release();
  await machine('b').take(shop, 'worker');
  await tellStates(database, [{ id: 'p1', token, state: { jobs: [2] } }]);
  expect(await readStates(database, ['p1'], first?.at ?? '')).toEqual([]);
});

test('a worker leaves a project that is paused, or that a command waits for, to that command', async () => {
  const { machine, orders } = await openCluster();
  const [a, b] = [machine('a'), machine('b')];
  await b.want('p1', 'sync');
  await expect(a.take(shop, 'worker')).rejects.toThrow('the project shop cannot be taken now: a command waits for it');
  const held = await b.take(shop, 'sync');
  await held.release();
  await orders.pause('shop', true);
  await expect(a.take(shop, 'worker')).rejects.toMatchObject({ code: 'busy' });
  await orders.pause('shop', false);
  await expect(a.take(shop, 'worker')).resolves.toBeDefined();
});

test('a project moves to a machine that lives, and is bound to it until another one takes it', async () => {
  const { database, machine, orders } = await openCluster();
  const [a, b] = [machine('a'), machine('b')];
  await a.live();
  await b.live();
  await orders.move('shop', 'b');
  const homeOf = async (): Promise<string | null | undefined> =>
    (await readRoster(database)).projects.find(({ name }) => name === 'shop')?.home;
  expect(await homeOf()).toBe('b');
  const held = await b.take(shop, 'worker');
  await held.release();
  expect(await homeOf()).toBe('b');
  await (await a.take(shop, 'sync')).release();
  expect(await homeOf()).toBe('b');
  await a.take(shop, 'worker');
  expect(await homeOf()).toBeNull();
});

test('orders about what the cluster does not have end with usage; a machine that lives is not forgotten', async () => {
  const { database, machine, orders } = await openCluster();
  const a = machine('a');
  await a.live();
  await tellCopies(database, 'p1', [left('a'), left('old')]);
  const usage = { code: 'usage' };
  await expect(orders.pause('nothing', true)).rejects.toMatchObject(usage);
  await expect(orders.move('nothing', 'a')).rejects.toMatchObject(usage);
  await expect(orders.move('shop', 'b')).rejects.toMatchObject(usage);
  await expect(orders.drain('b')).rejects.toMatchObject(usage);
  await expect(orders.forget('b')).rejects.toMatchObject(usage);
  await expect(orders.forget('a')).rejects.toMatchObject({ code: 'busy', message: 'the machine a lives' });
  await orders.drain('a');
  expect((await readRoster(database)).machines).toMatchObject([{ name: 'a', isDraining: true }, { name: 'old' }]);
  await a.close();
  expect(await orders.forget('a')).toBe(1);
  expect(await orders.forget('a').catch(({ code }: { code: string }) => code)).toBe('usage');
  expect(await orders.forget('copy-on-old')).toBe(1);
  expect((await readRoster(database)).machines).toEqual([]);
  // It stays so, also where its holder has not said so on the ledger yet.
  await tellCopies(database, 'p1', [left('a')]);
  expect(await forgottenCopies(database, 'p1')).toEqual(['copy-on-a']);
});

test('the commands show projects, holders and machines, and give the orders', async () => {
  const { database, machine, address } = await openCluster();
  const a = machine('a');
  await a.live();
  await a.take(shop, 'worker');
  await tellCopies(database, 'p2', [left('gone')]);
  const run = async (...args: string[]): Promise<string> => {
    const ended = await runCli(['cluster', ...args], { env: { MIRROR_CLUSTER_DATABASE: address } });
    expect({ args, ...ended }).toMatchObject({ code: 0 });
    return ended.stdout;
  };
  await run('move', 'shop', 'a');
  await run('pause', 'blog');
  const told = await run('list');
  expect(told).toMatch(/a +lives +1 +0\n *gone +gone +0 +1\n/);
  expect(told).toMatch(/shop +a +worker +\d{4}-.*moved to a\n/);
  expect(told).toMatch(/blog +none +paused\n/);
  expect(told).toContain('2 projects, 1 machine alive\n');
  for (const line of told.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  await run('resume', 'blog');
  const listed = await run('list');
  expect(listed).toContain('2 projects, 1 machine alive, 1 project on no machine\n');
  expect(listed.indexOf('blog')).toBeLessThan(listed.indexOf('shop'));
  expect(await run('list', 'sho')).not.toContain('blog');
  expect(await run('list', 'a')).toContain('1 project, 1 machine alive\n');
  expect(await run('forget', 'gone')).toBe('gone is forgotten, with 1 copy\n');
  expect(JSON.parse(await run('list', '--json'))).toMatchObject({
    projects: [
      { name: 'blog', holder: null },
      { name: 'shop', holder: 'a', home: 'a' },
    ],
    machines: [{ name: 'a', isLive: true, projects: 1 }],
  });
  await run('drain', 'a');
  const refused = await runCli(['cluster', 'forget', 'a'], { env: { MIRROR_CLUSTER_DATABASE: address } });
  expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining('the machine a lives') });
});
