import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { jsonOf, runCliHere } from '../cli/run-cli.ts';
import { openWorkspace, unlimited } from '../cli/workspace.ts';
import { snapshotsFolder } from '../snapshot/paths.ts';
import { duckDbWarehouse } from './warehouses.ts';

test('a warehouse is loaded, held against what is published, and forgets who was erased', async () => {
  await using workspace = await openWorkspace();
  const env = { ...workspace.env, MIRROR_LOG_LEVEL: 'warn' };
  const warehouse = duckDbWarehouse();
  const run = (...args: string[]) => runCliHere(args, env);
  const verify = (...args: string[]) => run('snapshots', ...args, '--verify', warehouse.address);
  expect((await run('load', '--into', warehouse.address)).code).toBe(1);
  expect((await run('sync', ...unlimited)).code).toBe(0);
  expect((await run('export')).code).toBe(0);

  expect((await verify()).code).toBe(1);
  const loaded = await run('load', '--into', warehouse.address, '--json');
  expect(loaded).toMatchObject({ code: 0, stderr: '' });
  expect(jsonOf(loaded)).toMatchObject({ tables: [{ dataset: 'persons', did: 'everything' }, {}, {}, {}, {}] });
  expect((await run('load', '--into', warehouse.address)).stdout).toMatch(/^persons .* nothing new$/m);
  expect(await verify()).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('persons is what is published now') as string,
  });

  const [[uuid = ''] = []] = await warehouse.read('SELECT min(person_uuid) FROM $persons');
  await warehouse.alter('persons', `name = 'Eve'`, `person_uuid = '${uuid}'`);
  const differs = await verify('persons');
  expect(differs).toMatchObject({ code: 4, stdout: expect.stringContaining(`stale: ${uuid}\n`) as string });
  expect(differs.stdout).not.toContain('recordings');

  expect((await run('erase', 'add', '--uuid', String(uuid), '--basis', 'objection', '--by', 'T-1')).code).toBe(0);
  expect((await run('reconcile', ...unlimited)).code).toBe(0);
  expect((await verify('persons')).stdout).toContain(`extra: ${uuid}\n`);
  expect((await run('load', '--into', warehouse.address)).code).toBe(0);
  expect(await warehouse.read(`SELECT count(*) FROM $persons WHERE person_uuid = '${uuid}'`)).toEqual([['0']]);
  expect((await verify()).code).toBe(0);
  // Without --into, it is the warehouse of the settings.
  const byDefault = [
    '--set',
    `export.load.into=${warehouse.address}`,
    '--set',
    `export.load.schema=${warehouse.place.schema}`,
  ];
  expect((await run('load', ...byDefault)).stdout).toMatch(/^persons .* nothing new$/m);
  expect(await run('load')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no warehouse is named') as string,
  });
  // The settings name its schema, too.
  expect(await run('load', ...byDefault, '--schema', 'other')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--schema goes with --into') as string,
  });
});

test('a table that is not published any more is named, since whom it holds is not erased from it; the others are loaded', async () => {
  await using workspace = await openWorkspace();
  const warehouse = duckDbWarehouse();
  const run = (...args: string[]) => runCliHere(args, workspace.env);
  const load = () => run('load', '--into', warehouse.address);
  expect((await run('sync', ...unlimited)).code).toBe(0);
  expect((await run('export')).code).toBe(0);
  expect((await load()).code).toBe(0);
  const [[uuid = ''] = []] = await warehouse.read('SELECT max(person_uuid) FROM $recordings');
  rmSync(snapshotsFolder(workspace.dataDir), { recursive: true });
  expect((await run('erase', 'add', '--uuid', String(uuid), '--basis', 'objection', '--by', 'T-1')).code).toBe(0);
  expect((await run('reconcile', ...unlimited)).code).toBe(0);
  expect((await run('export', 'persons')).code).toBe(0);
  expect(await load()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('not published now: recordings, distinct_ids\n') as string,
  });
  const left = (table: string) => warehouse.read(`SELECT count(*) > 0 FROM $${table} WHERE person_uuid = '${uuid}'`);
  expect(await left('persons')).toEqual([['false']]);
  expect((await run('export')).code).toBe(0);
  expect((await load()).code).toBe(0);
  expect(await left('recordings')).toEqual([['false']]);
});

test('a password is refused on the command line, taken from the environment, and never shown', async () => {
  await using workspace = await openWorkspace();
  const run = (address: string, password: string) =>
    runCliHere(['load', '--into', address], { ...workspace.env, MIRROR_WAREHOUSE_PASSWORD: password });
  for (const address of [
    'postgres://loader:hunter2@127.0.0.1:1/db',
    'postgres://loader@127.0.0.1:1/db?password=hunter2',
    'clickhouse://loader:hunter2@127.0.0.1:1',
    'https://loader:hunter2@ch.example.com',
  ]) {
    const refused = await run(address, '');
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('holds a password') as string });
    expect(refused.stderr).not.toContain('hunter2');
  }
  await runCliHere(['sync', ...unlimited], workspace.env);
  await runCliHere(['export'], workspace.env);
  for (const address of ['postgres://loader@127.0.0.1:1/db', 'clickhouse://loader@127.0.0.1:1']) {
    const failed = await run(address, 'hunter2');
    expect(failed).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the warehouse does not answer (ECONNREFUSED)') as string,
    });
    expect(failed.stderr).not.toContain('hunter2');
  }
  const wrong = ['postgres://db.example.com/db', 'http://ch.example.com', 'warehouse.db', 'mysql://db', 'a/b'];
  expect(await Promise.all(wrong.map(async (address) => (await run(address, '')).code))).toEqual(wrong.map(() => 2));
  expect((await runCliHere(['load', '--into', 'x.duckdb', '--schema', 'a"b'], workspace.env)).code).toBe(2);
});
