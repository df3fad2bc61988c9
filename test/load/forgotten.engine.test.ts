import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { nextBatchAfter } from '../../src/contract/weekly-batch.ts';
import { jsonOf } from '../cli/run-cli.ts';
import { openWorkspace, unlimited } from '../cli/workspace.ts';
import { signedReport, sshKeyIn, type KitWarehouse } from './erase-kit-suite.ts';
import { clickHouseKit, duckDbKit, postgresKit } from './kit-warehouses.ts';

const { LOAD_POSTGRES = '', LOAD_CLICKHOUSE = '' } = process.env;
const shiftedClock = new URL('../cli/shifted-clock-child.ts', import.meta.url).href;
const verifier = fileURLToPath(new URL('../../docs/verifier/verify.mjs', import.meta.url));

type Looked = { looked: { table: string; found: number; left: number | null }[] };
type Consumer = { consumer: string; acknowledged_at: string | null; seen?: object[]; not_covered?: string[] };

test('a person in six tables of three engines: the certificate says of each how it was seen, or that nobody covers it', async () => {
  await using workspace = await openWorkspace({ persons: 60, recordings: 30 });
  const { folder, dataDir, sandbox } = workspace;
  const warehouses = { click: clickHouseKit(LOAD_CLICKHOUSE), duck: duckDbKit(), pg: postgresKit(LOAD_POSTGRES) };
  const engines = Object.entries(warehouses);
  const tableOf = ({ place }: KitWarehouse, table: string): string => `${place.schema}.${table}`;
  const key = join(folder, 'id');
  const signer = sshKeyIn(key);
  const fenced = engines.map(
    ([name, one]) => `{ consumer: ${name}, signer: ${signer}, tables: [${tableOf(one, 'people')}] }`,
  );
  const config = join(folder, 'config.yaml');
  // Nobody says anything of the shop.
  fenced.push('{ consumer: shop, tables: [shop.orders] }');
  writeFileSync(config, `export: { consumers: [click, duck, pg, shop, mail], fence: [${fenced.join(', ')}] }\n`);

  let aheadMs = 0;
  const settings = [...unlimited, '--set', 'deletions.confirmAfterSeconds=0', '--log-level', 'warn'];
  const run = (...args: string[]) =>
    workspace.run([...args, ...settings], {
      env: { MIRROR_CONFIG: config, NODE_OPTIONS: `--import ${shiftedClock}`, CLOCK_AHEAD_MS: String(aheadMs) },
    });
  const succeed = async (...args: string[]) => {
    const ended = await run(...args);
    expect(ended).toMatchObject({ code: expect.toBeOneOf([0, 4]) as number, stderr: '' });
    return ended;
  };
  const load = async ({ address, place }: KitWarehouse, ...more: string[]) =>
    jsonOf(await succeed('load', '--into', address, '--schema', place.schema, '--json', ...more)) as Looked;
  const keyFile = (name: string): string => join(folder, `${name}.key`);
  const kitOf = async (name: string, one: KitWarehouse) => {
    const about = ['--for', one.place.engine, '--consumer', name, '--fence', tableOf(one, 'fence')];
    const table = ['--table', `${tableOf(one, 'people')}:person_uuid=uuid`];
    return (await succeed('erase', 'kit', ...about, ...table, '--key', keyFile(name))).stdout;
  };
  const report = join(folder, 'report.json');
  const runKit = async (name: string, one: KitWarehouse) =>
    (await signedReport(one, await kitOf(name, one), { key, file: report })).tables;
  const acknowledge = (name: string) => run('erase', 'acknowledge', '--consumer', name, '--report', report);
  const erase = async (uuid: string): Promise<string> => {
    await succeed('erase', 'add', '--uuid', uuid, '--basis', 'objection', '--by', 'T-1');
    await succeed('reconcile');
    const { requests } = jsonOf(await succeed('erase', 'list', '--json')) as {
      requests: { id: string; state: string }[];
    };
    const open = requests.filter(({ state }) => state !== 'sealed');
    expect(open).toMatchObject([{ state: 'awaiting_upstream' }]);
    return open[0]?.id ?? '';
  };
  /** The consumers that the certificate names, once the service's weekly batch has run; two verifiers' words agree with them. */
  const certified = async (id: string): Promise<Consumer[]> => {
    const afterBatchMs = nextBatchAfter(Date.now() + aheadMs) + 25 * 3_600_000;
    aheadMs = afterBatchMs - Date.now();
    sandbox.clock.moveTo(afterBatchMs);
    await succeed('reconcile');
    const file = join(dataDir, 'reports', 'certificates', `${id}-g1.json`);
    await succeed('audit', 'certificate', id);
    const verified = spawnSync(process.execPath, [verifier, join(dataDir, 'ledger'), '--certificate', file]);
    expect({ code: verified.status, said: String(verified.stdout) }).toMatchObject({ code: 3 });
    return (JSON.parse(readFileSync(file, 'utf8')) as { consumers: Consumer[] }).consumers;
  };
  const holds = async ({ read }: KitWarehouse, table: string, uuid: string): Promise<boolean> =>
    Number((await read(`SELECT count(*) FROM $${table} WHERE person_uuid = '${uuid}'`))[0]?.[0]) > 0;

  await succeed('sync');
  await succeed('export');
  const persons = join(dataDir, 'snapshots', 'persons');
  const snapshot = readdirSync(persons).find((one) => one.endsWith('Z')) ?? '';
  const oldFile = join(folder, 'old.parquet');
  copyFileSync(join(persons, snapshot, 'part-00001.parquet'), oldFile);
  for (const [, one] of engines) {
    await load(one);
    await one.make('people', 'SELECT person_uuid, name FROM $persons');
  }
  const [[first = ''] = [], [second = ''] = []] = (await warehouses.pg.read(
    'SELECT person_uuid FROM $persons ORDER BY 1 LIMIT 2',
  )) as string[][];
  /** Fills a table again with somebody out of the old file. */
  const fillAgain = async (one: KitWarehouse, table: string, uuid: string): Promise<void> => {
    const old = await warehouses.duck.read(
      `SELECT person_uuid, name FROM read_parquet('${oldFile}') WHERE person_uuid = '${uuid}'`,
    );
    const values = old.map((row) => `(${row.map((value) => `'${(value ?? '').replaceAll("'", "''")}'`).join(', ')})`);
    expect(values).toHaveLength(1);
    await one.insert(table, `(person_uuid, name) VALUES ${values.join(', ')}`);
    expect(await holds(one, table, uuid)).toBe(true);
  };

  // The first is gone from all six, though two were filled again; each table says how that was seen.
  const request = await erase(first);
  for (const [name, one] of engines) {
    expect(await holds(one, 'persons', first)).toBe(true);
    expect(await holds(one, 'people', first)).toBe(true);
    const { looked } = await load(one, '--consumer', name);
    expect(looked).toContainEqual({ table: tableOf(one, 'persons'), found: 0, left: 0 });
    expect(looked).toContainEqual({ table: tableOf(one, 'people'), found: 0, left: null });
    expect(await holds(one, 'persons', first)).toBe(false);
  }
  for (const [name, one] of engines) {
    await succeed('export');
    await load(one);
    expect(await runKit(name, one)).toMatchObject([{ control: 1, deleted: 1, left: 0 }]);
    await fillAgain(one, 'people', first);
    // Its key is in no other consumer's hands: with another one the control is not found, and the report is refused.
    const kit = await kitOf(name, one);
    const own = readFileSync(keyFile(name));
    writeFileSync(keyFile(name), `${'0'.repeat(128)}\n`);
    await signedReport(one, kit, { key, file: report });
    expect(await acknowledge(name)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('its control row was not found') as string,
    });
    writeFileSync(keyFile(name), own);
    expect(await holds(one, 'people', first)).toBe(true);
    expect(await runKit(name, one)).toMatchObject([{ control: 1, deleted: 1, left: 0 }]);
    expect(await acknowledge(name)).toMatchObject({ code: 0 });
    await fillAgain(one, 'persons', first);
    expect((await load(one, '--consumer', name)).looked).toContainEqual({
      table: tableOf(one, 'persons'),
      found: 1,
      left: 0,
    });
    for (const table of ['persons', 'people']) expect(await holds(one, table, first)).toBe(false);
  }
  const loaded = ['distinct_ids', 'persons', 'recordings'];
  const time = expect.any(String) as string;
  const attested = (one: KitWarehouse) => ({ assurance: 'attested', at: time, tables: [tableOf(one, 'people')] });
  const observed = (one: KitWarehouse) => ({
    assurance: 'observed',
    at: time,
    tables: loaded.map((table) => tableOf(one, table)),
  });
  const silent = [
    { consumer: 'mail', acknowledged_at: null },
    { consumer: 'shop', acknowledged_at: null, not_covered: ['shop.orders'] },
  ];
  const all = engines.map(([consumer, one]) => ({
    consumer,
    acknowledged_at: time,
    seen: [{ ...attested(one), report: time, signer: time }, observed(one)],
  }));
  expect(await certified(request)).toEqual([...all.slice(0, 2), silent[0], all[2], silent[1]]);

  // The second: one warehouse is only loaded, with a table that is filled again; one is not looked at; one does all.
  const other = await erase(second);
  const { click, duck, pg } = warehouses;
  await load(pg, '--consumer', 'pg');
  // By a fence from before the erasure, the kit finds its control and deletes nobody: its report is no word of the second.
  expect(await runKit('pg', pg)).toMatchObject([{ control: 1, deleted: 0, left: 0 }]);
  expect((await acknowledge('pg')).stdout).not.toContain(other);
  expect((await run('erase', 'acknowledge', other, '--consumer', 'pg', '--report', report)).code).toBe(2);
  await succeed('export');
  await load(pg);
  expect(await runKit('pg', pg)).toMatchObject([{ control: 1, deleted: 1, left: 0 }]);
  expect(await acknowledge('pg')).toMatchObject({ code: 0, stdout: expect.stringContaining(other) as string });
  await load(click);
  await load(duck, '--consumer', 'duck');
  expect(await holds(duck, 'people', second)).toBe(true);
  expect(await certified(other)).toEqual([
    { consumer: 'click', acknowledged_at: null, not_covered: [tableOf(click, 'people')] },
    { consumer: 'duck', acknowledged_at: time, seen: [observed(duck)], not_covered: [tableOf(duck, 'people')] },
    silent[0],
    all[2],
    silent[1],
  ]);
});
