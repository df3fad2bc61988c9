import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { jsonOf, runCliHere } from '../cli/run-cli.ts';
import { openWorkspace, unlimited } from '../cli/workspace.ts';
import { duckDbWarehouse } from './warehouses.ts';

type Looked = { looked: { table: string; found: number; left: number | null }[] };

test('a loaded table is observed only where a control row is found, and nobody erased', async () => {
  await using workspace = await openWorkspace();
  const warehouse = duckDbWarehouse();
  const config = join(workspace.folder, 'config.yaml');
  const mart = '{ consumer: warehouse, tables: [mart.events] }';
  writeFileSync(config, `export: { consumers: [warehouse, crm], fence: [${mart}] }\n`);
  const run = (...args: string[]) => runCliHere(args, { ...workspace.env, MIRROR_CONFIG: config });
  const load = async (...more: string[]) =>
    jsonOf(await run('load', '--into', warehouse.address, '--json', ...more)) as Looked;
  const look = async () => (await load('--consumer', 'warehouse')).looked;
  const seenOf = async () => {
    const { requests } = jsonOf(await run('erase', 'list', '--all', '--json')) as { requests: { id: string }[] };
    const shown = await run('erase', 'show', requests[0]?.id ?? '', '--json');
    return (jsonOf(shown) as { acknowledgements: unknown[] }).acknowledgements;
  };
  await run('sync', ...unlimited);
  await run('export');
  expect(await load()).toMatchObject({ looked: [] });
  const [[uuid = '', name = ''] = []] = await warehouse.read(
    'SELECT person_uuid, name FROM $persons ORDER BY 1 LIMIT 1',
  );
  await warehouse.copy('persons', 'old');
  await run('erase', 'add', '--uuid', String(uuid), '--basis', 'objection', '--by', 'T-1');
  await run('reconcile', ...unlimited);
  const tables = ['persons', 'recordings', 'distinct_ids'].map((one) => `mirror.${one}`);
  const clean = tables.map((table) => ({ table, found: 0, left: 0 }));
  const time = expect.any(String) as string;
  const other = { table: 'mirror.old', found: 0, left: null };

  // Somebody has emptied the table: no row that is published is there, so nothing is shown by finding nobody.
  await load();
  await warehouse.copy('distinct_ids', 'kept');
  await warehouse.remove('distinct_ids', 'true');
  const [others, unseen] = [[other, { ...other, table: 'mirror.kept' }], { ...clean[2], left: null }];
  expect(await look()).toEqual(expect.arrayContaining([...others, ...clean.slice(0, 2), unseen]));
  expect(await seenOf()).toEqual([
    { consumer: 'crm', acknowledgedAt: null },
    {
      consumer: 'warehouse',
      acknowledgedAt: time,
      seen: [{ assurance: 'observed', at: time, tables: ['mirror.persons', 'mirror.recordings'] }],
      not_covered: ['mart.events', 'mirror.distinct_ids', 'mirror.kept', 'mirror.old'],
    },
  ]);

  // Filled in again, in capitals too.
  await warehouse.read('INSERT INTO $distinct_ids SELECT * FROM $kept').catch(() => undefined);
  await warehouse.read(`INSERT INTO $persons SELECT * FROM $old WHERE person_uuid = '${uuid}'`).catch(() => undefined);
  await warehouse.alter('persons', 'person_uuid = upper(person_uuid)', `person_uuid = '${uuid}'`);
  const before = await seenOf();
  const again = await run('load', '--into', warehouse.address, '--consumer', 'warehouse');
  expect(again).toMatchObject({ code: 0 });
  expect(again.stdout).toMatch(/^mirror\.persons +1 +0$/m);
  expect(again.stdout).not.toContain(String(name));
  expect(await warehouse.read(`SELECT count(*) FROM $persons WHERE lower(person_uuid) = '${uuid}'`)).toEqual([['0']]);
  expect(await look()).toEqual(expect.arrayContaining([...others, ...clean]));
  const after = await seenOf();
  expect(after).not.toEqual(before);
  expect(after[1]).toMatchObject({ seen: [{ tables: tables.toSorted() }] });
  await look();
  expect(await seenOf()).toEqual(after);

  // Another warehouse in its place has never had anybody: the load that makes its tables shows nothing.
  rmSync(warehouse.address);
  expect(await look()).toEqual(tables.map((table) => ({ table, found: 0, left: null })));
  expect(await seenOf()).toEqual(after);
  // Of very many tables of others, or with names that the ledger cannot hold, the schema is named.
  await warehouse.read('CREATE TABLE $"Jane Doe" (a INT)');
  expect(await look()).toContainEqual({ table: 'mirror', found: 0, left: null });
  const many = Array.from({ length: 101 }, (_, at) => `CREATE TABLE $t${at} (a INT)`);
  await warehouse.read(many.join(';'));
  expect(await look()).toEqual([{ table: 'mirror', found: 0, left: null }, ...clean]);
  expect(await run('load', '--into', warehouse.address, '--consumer', 'nobody')).toMatchObject({ code: 2 });
});
