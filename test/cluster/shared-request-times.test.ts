import { expect, onTestFinished, test } from 'vitest';
import { memoryRequestTimes, type Kept } from '../../src/client/request-times.ts';
import { openClusterDatabase, type ClusterDatabase } from '../../src/cluster/cluster-database.ts';
import { sharedRequestTimes } from '../../src/cluster/shared-request-times.ts';
import { holdRequestTimes } from '../client/request-times-contract.ts';
import { virtualClock } from '../core/virtual-clock.ts';
import { cutConnections, freshDatabase, run } from './cluster-world.ts';

const kept: Kept = { ms: 10_000, requests: { general: 9, 'recordings list': 9 } };
const key = { account: 'a', timeoutMs: 100_000 };

function open(address: string): ClusterDatabase {
  const database = openClusterDatabase(address);
  onTestFinished(() => database.close());
  return database;
}

/** An address whose connections see a clock that the test sets, in the place of the server's. */
async function withSetClock(): Promise<{ address: string; setTo: (ms: number) => Promise<void> }> {
  const plain = await freshDatabase();
  await run(plain, `CREATE SCHEMA fake`);
  await run(plain, `CREATE TABLE fake.now AS SELECT 0::float8 AS ms`);
  await run(
    plain,
    `CREATE FUNCTION fake.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT to_timestamp(ms / 1000) FROM fake.now'`,
  );
  const address = new URL(plain);
  address.searchParams.set('options', '-c search_path=fake,pg_catalog');
  const setter = open(plain);
  return { address: address.href, setTo: async (ms) => void (await setter.query(`UPDATE fake.now SET ms = $1`, [ms])) };
}

holdRequestTimes('in a cluster', async (kept) => {
  const { address, setTo } = await withSetClock();
  return { open: () => sharedRequestTimes(open(address), key, kept, memoryRequestTimes(virtualClock(), kept)), setTo };
});

test('a request whose process died ends with its time out, and one whose machine allows more time with that', async () => {
  const { address, setTo } = await withSetClock();
  const database = open(address);
  const own = memoryRequestTimes(virtualClock(), kept);
  const [short, long] = [1000, 5000].map((timeoutMs) => sharedRequestTimes(database, { ...key, timeoutMs }, kept, own));
  await setTo(100);
  await short?.tryToBegin('general', () => 0);
  await long?.tryToBegin('general', () => 0);
  await setTo(9000);
  expect((await short?.read())?.ends.general).toEqual([1100, 5100]);
});

test('keys have times of their own', async () => {
  const database = open(await freshDatabase());
  const own = memoryRequestTimes(virtualClock(), kept);
  await sharedRequestTimes(database, key, kept, own).tryToBegin('general', () => 0);
  const other = sharedRequestTimes(database, { ...key, account: 'b' }, kept, own);
  expect((await other.read()).ends.general).toEqual([]);
});

test('many programs that begin at once on an empty database make its tables once', async () => {
  const address = await freshDatabase();
  const rows = await Promise.all(
    Array.from({ length: 8 }, () =>
      open(address).query(`SELECT count(*)::int AS n FROM analytics_mirror.request_times`, []),
    ),
  );
  expect(rows.flat()).toEqual(Array.from({ length: 8 }, () => ({ n: 0 })));
});

test('what keys that are no longer used have left is removed at the next opening', async () => {
  const address = await freshDatabase();
  await open(address).query(
    `INSERT INTO analytics_mirror.request_times (account, lane, ended_at_ms, under_way_ms) VALUES ('old', 'general', 1, 0)`,
    [],
  );
  expect(await open(address).query(`SELECT account FROM analytics_mirror.request_times`, [])).toEqual([]);
});

test('a connection that breaks between reading and beginning undoes both, and the next call has another one', async () => {
  const address = await freshDatabase();
  const database = open(address);
  const times = sharedRequestTimes(database, key, kept, memoryRequestTimes(virtualClock(), kept));
  await times.read();
  const broken = database.locked('a', async (query) => {
    await query(
      `INSERT INTO analytics_mirror.request_times (account, lane, ended_at_ms, under_way_ms) VALUES ('a', 'general', 9e12, 0)`,
      [],
    );
    await cutConnections(address);
    await query('SELECT 1', []);
  });
  await expect(broken).rejects.toMatchObject({ code: 'unreachable', retryable: true });
  expect((await times.read()).ends.general).toEqual([]);
});

test.for([
  ['a server that is not there', () => 'postgres://nobody@127.0.0.1:9/none', { code: 'unreachable', retryable: true }],
  ['a missing database', (fresh: string) => fresh.replace(/test_\w+/, 'not_there'), { code: 'usage' }],
  [
    'a server without TLS',
    (fresh: string) => `${fresh}?sslmode=verify-full`,
    { code: 'usage', message: expect.stringContaining('can be trusted') },
  ],
] as const)('%s: one sentence without the address', async ([, addressOf, error]) => {
  const failing = open(addressOf(await freshDatabase())).query('SELECT 1', []);
  await expect(failing).rejects.toMatchObject(error);
  await expect(failing).rejects.not.toThrow(/127\.0\.0\.1|not_there|nobody/);
});

test('a user that may not make tables is told so, and uses those that are there', async () => {
  const address = await freshDatabase();
  const name = new URL(address).pathname.slice(1);
  await run(address, `CREATE ROLE ${name} LOGIN`);
  onTestFinished(() => run(address, `DROP OWNED BY ${name}; DROP ROLE ${name}`).then(() => undefined));
  const asUser = new URL(address);
  asUser.username = name;
  await expect(open(asUser.href).query('SELECT 1', [])).rejects.toMatchObject({ code: 'usage' });
  await open(address).query('SELECT 1', []);
  await run(address, `GRANT USAGE ON SCHEMA analytics_mirror TO ${name}`);
  await run(address, `GRANT ALL ON ALL TABLES IN SCHEMA analytics_mirror TO ${name}`);
  const own = memoryRequestTimes(virtualClock(), kept);
  const begun = await sharedRequestTimes(open(asUser.href), key, kept, own).tryToBegin('general', () => 0);
  expect(typeof begun).toBe('function');
});
