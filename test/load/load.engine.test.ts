import { randomBytes } from 'node:crypto';
import process from 'node:process';
import { describe, expect, onTestFinished, test } from 'vitest';
import { loadWarehouse } from '../../src/load/load.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { exportAll, openWorld, perform } from '../export/exported-world.ts';
import { publishRows } from '../snapshot/publish-rows.ts';
import { personRow } from '../snapshot/rows.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { differences, load, testLoad } from './load-suite.ts';
import { clickHouseWarehouse, postgresWarehouse } from './warehouses.ts';

// `.ci/loading` starts both.
const { LOAD_POSTGRES = '', LOAD_CLICKHOUSE = '' } = process.env;
describe('Postgres', () => {
  testLoad(() => postgresWarehouse(LOAD_POSTGRES));

  test('a column to which somebody has given another type gets its own, and every row its value', async () => {
    const [dataDir, warehouse] = [temporaryFolder(), postgresWarehouse(LOAD_POSTGRES)];
    await publishRows(dataDir, 'persons', [personRow('a', { properties: '{"n":1}' })]);
    await load(dataDir, warehouse);
    await warehouse.read('ALTER TABLE $persons ALTER properties TYPE jsonb USING properties::jsonb');
    expect(await load(dataDir, warehouse)).toEqual(['persons: everything']);
    expect(await differences(dataDir, warehouse)).toEqual([]);
    expect(await load(dataDir, warehouse)).toEqual(['persons: nothing']);
  });

  // What was staged for the changes stood in the way of what was staged for the whole.
  test('who was filled in again leaves by a load that has taken over changes', async () => {
    const [world, warehouse] = [openWorld(), postgresWarehouse(LOAD_POSTGRES)];
    const published = publishedFilesIn(world.dataDir);
    const isFenced = (_kind: string, value: string): boolean => value === 'erased';
    const showAndLoad = async (number: number, kind: 'full' | 'delta') => {
      perform(world, { do: 'show persons', persons: [{ number, name: 'Ann', distinctIds: [`d${number}`] }] });
      await exportAll(world, kind);
      const { signal } = new AbortController();
      return loadWarehouse(warehouse.place, { published, ledger: 'p', signal, isFenced });
    };
    await showAndLoad(1, 'full');
    await warehouse.copy('persons', 'old');
    await warehouse.alter('old', `person_uuid = 'erased'`, 'true');
    await warehouse.read('INSERT INTO $persons SELECT * FROM $old');
    const { looked } = await showAndLoad(2, 'delta');
    expect(looked).toContainEqual({ table: `${warehouse.place.schema}.persons`, found: 1, left: 0 });
    expect(await differences(world.dataDir, warehouse)).toEqual([]);
  });

  test('a column that Postgres keeps for itself is refused by name', async () => {
    const [dataDir, warehouse] = [temporaryFolder(), postgresWarehouse(LOAD_POSTGRES)];
    await publishRows(dataDir, 'persons', [personRow('a')], {
      promote: [{ property: 'x', as: 'xmin', type: 'string' }],
    });
    await expect(load(dataDir, warehouse)).rejects.toMatchObject({ code: 'usage' });
  });

  test('a table of its user that refers to a row that leaves is told, and how long a statement may take ends no load', async () => {
    const [dataDir, warehouse] = [temporaryFolder(), postgresWarehouse(LOAD_POSTGRES)];
    await publishRows(dataDir, 'persons', [personRow('a'), personRow('b')]);
    const { searchParams, href } = new URL(warehouse.place.at);
    searchParams.set('options', '-c statement_timeout=1');
    const hurried = { ...warehouse, place: { ...warehouse.place, at: `${href}?${searchParams.toString()}` } };
    expect(await load(dataDir, hurried)).toEqual(['persons: everything']);
    await warehouse.read('ALTER TABLE $persons ADD PRIMARY KEY (person_uuid)');
    await warehouse.read('CREATE TABLE $notes AS SELECT person_uuid FROM $persons');
    await warehouse.read('ALTER TABLE $notes ADD FOREIGN KEY (person_uuid) REFERENCES $persons');
    await publishRows(dataDir, 'persons', [personRow('a')]);
    const refused = { code: 'usage', message: expect.stringContaining('23503') as string };
    await expect(load(dataDir, warehouse)).rejects.toMatchObject(refused);
  });

  test('a row that a policy hides from the loader is an error: it is not gone', async () => {
    const [dataDir, warehouse] = [temporaryFolder(), postgresWarehouse(LOAD_POSTGRES)];
    const loader = `loader_${randomBytes(6).toString('hex')}`;
    await publishRows(dataDir, 'persons', [personRow('a'), personRow('b')]);
    await load(dataDir, warehouse);
    const { schema, at } = warehouse.place;
    const runAll = async (...statements: string[]): Promise<void> => {
      for (const sql of statements) await warehouse.read(sql);
    };
    await runAll(
      `CREATE ROLE ${loader} LOGIN`,
      `ALTER SCHEMA ${schema} OWNER TO ${loader}`,
      `ALTER TABLE $persons OWNER TO ${loader}`,
      'ALTER TABLE $persons ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY',
      "CREATE POLICY hides ON $persons USING (person_uuid <> 'b')",
    );
    onTestFinished(() => runAll(`DROP OWNED BY ${loader}`, `DROP ROLE ${loader}`));
    const asLoader = { ...warehouse, place: { ...warehouse.place, at: at.replace('postgres@', `${loader}@`) } };
    await publishRows(dataDir, 'persons', [personRow('a')]);
    const refused = { code: 'usage', message: expect.stringContaining('42501') as string };
    await expect(load(dataDir, asLoader)).rejects.toMatchObject(refused);
    await expect(differences(dataDir, asLoader)).rejects.toMatchObject(refused);
  });
});
describe('ClickHouse', () => {
  testLoad(() => clickHouseWarehouse(LOAD_CLICKHOUSE));
});
