import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { nobody } from '../../src/contract/identity.ts';
import { loadWarehouse, type LoadedTable } from '../../src/load/load.ts';
import { verifyWarehouse, type TableCheck } from '../../src/load/verify-warehouse.ts';
import { publishedDatasets } from '../../src/contract/datasets.ts';
import { currentIds } from '../../src/snapshot/manifest.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { rewriteSnapshot } from '../../src/snapshot/rewrite.ts';
import { exportAll, openWorld, perform, type Step } from '../export/exported-world.ts';
import { publishRows } from '../snapshot/publish-rows.ts';
import { distinctIdRows, personRow, recordingRow } from '../snapshot/rows.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import type { TestWarehouse } from './warehouses.ts';

const { signal } = new AbortController();

/** Loads what is published below a folder; says what was done to each table. */
export async function load(dataDir: string, { place }: TestWarehouse, ledger = 'p'): Promise<string[]> {
  const { tables } = await loadWarehouse(place, { published: publishedFilesIn(dataDir), ledger, signal });
  return tables.map(({ dataset, did }: LoadedTable) => `${dataset}: ${did}`);
}

/** The differences between a warehouse and what is published; none where both are equal. */
export async function differences(dataDir: string, { place }: TestWarehouse): Promise<TableCheck[]> {
  const checks = await verifyWarehouse(place, { published: publishedFilesIn(dataDir), signal }, publishedDatasets);
  expect(checks.length).toBeGreaterThan(0);
  return checks.filter(({ state }) => state !== 'equal');
}

const show = (...numbers: number[]): Exclude<Step, { do: 'export' }> => ({
  do: 'show persons',
  persons: numbers.map((number) => ({ number, name: `name ${number}`, distinctIds: [`d${number}`] })),
});

const hostile = {
  name: 'tab\there\nline\r\n\\N \\t "quoted" \'single\' {a,b} [x] 😀 é \u0007',
  distinct_ids: JSON.stringify(['', 'NULL', 'a,b', '{"x"}', "it's", 'back\\slash\ttab\nline', '😀']),
  properties: '{"a":"\\n\\t\\\\","b":[1,2.50,1e400]}',
};

/** Tests what holds for every engine. */
export function testLoad(open: () => TestWarehouse): void {
  test('every value arrives as it is published, and a second load does nothing', async () => {
    const [dataDir, warehouse] = [temporaryFolder(), open()];
    const promote = [
      { property: 'n', as: 'bucket', type: 'double' },
      { property: 'i', as: 'hash', type: 'int64' },
      { property: 'b', as: 'one "`\'\\', type: 'boolean' },
      { property: 't', as: 'version', type: 'timestamp' },
    ] as const;
    const numbers = [
      '0.1',
      '-0.0',
      '5e-324',
      '1.7976931348623157e308',
      '123456789012345680',
      '3.0000000000000004',
      'null',
    ];
    const rows = [
      personRow('a', hostile),
      personRow('b', { name: null, distinct_ids: '[]', properties: null, created_at: null }),
      personRow('bn', { name: 'a\u0000b', distinct_ids: '["a\\u0000b"]' }),
      personRow('c', { name: '', distinct_ids: '[""]', created_at: '1969-12-31T23:59:59.999999Z' }),
      personRow('d', { name: '\\N', created_at: '2299-12-31T23:59:59.999999Z' }),
      ...numbers.map((number, at) =>
        personRow(`n${at}`, {
          properties: `{"n":${number},"i":-9223372036854775808,"b":${at % 2 === 0},"t":"2026-01-0${at + 1}T00:00:00.5Z"}`,
        }),
      ),
    ];
    await publishRows(dataDir, 'persons', rows, { promote });
    await publishRows(dataDir, 'recordings', [recordingRow('r/1', { activity_score: 0.30000000000000004 })]);
    await publishRows(dataDir, 'distinct_ids', [...distinctIdRows(50)]);
    await publishRows(dataDir, 'deletions', []);
    // A key that is a number.
    const ended = {
      dataset: 'persons',
      mode: 'full',
      verdict: 'complete',
      reason: null,
      started_at: null,
      finished_at: null,
    };
    const counts = { rows_distinct: 1, count_reported: null, rows_quarantined: 0, seams: 0, step_backs: 0 };
    await publishRows(
      dataDir,
      'passes',
      [9n, 10n].map((id) => Object.assign({ id }, ended, counts)),
    );
    expect(await load(dataDir, warehouse)).toEqual(
      ['persons', 'recordings', 'distinct_ids', 'deletions', 'passes'].map((dataset) => `${dataset}: everything`),
    );
    expect(await differences(dataDir, warehouse)).toEqual([]);
    expect(await warehouse.read(`SELECT name, properties FROM $persons WHERE person_uuid = 'a'`)).toEqual([
      [hostile.name, hostile.properties],
    ]);
    expect(await warehouse.read('SELECT count(*) FROM $persons')).toEqual([[String(rows.length)]]);
    expect(new Set(await load(dataDir, warehouse))).toEqual(
      new Set(['persons', 'recordings', 'distinct_ids', 'deletions', 'passes'].map((dataset) => `${dataset}: nothing`)),
    );
  });

  test('deltas add, change and remove rows, also of who left and came back; a full snapshot takes their place', async () => {
    const [world, warehouse] = [openWorld(), open()];
    const holds = async (...numbers: number[]): Promise<void> => {
      const held = await warehouse.read('SELECT person_uuid, name FROM $persons ORDER BY 1');
      expect(held).toEqual(world.db.prepare('SELECT uuid, name FROM persons ORDER BY 1').raw().all() as string[][]);
      expect(held.map(([key]) => key)).toEqual(numbers.map((number) => `person-${number}`));
      expect(await differences(world.dataDir, warehouse)).toEqual([]);
    };
    perform(world, show(1, 2, 3, 4));
    await exportAll(world, 'full');
    await load(world.dataDir, warehouse);
    await holds(1, 2, 3, 4);
    perform(world, { do: 'remove', dataset: 'persons', number: 2 });
    perform(world, { do: 'show persons', persons: [{ number: 3, name: 'other', distinctIds: ['d3', 'd2'] }] });
    perform(world, show(5));
    await exportAll(world, 'delta');
    expect(await load(world.dataDir, warehouse)).toContain('persons: changes');
    await holds(1, 3, 4, 5);
    perform(world, show(2));
    perform(world, { do: 'remove', dataset: 'persons', number: 5 });
    await exportAll(world, 'delta');
    perform(world, { do: 'remove', dataset: 'persons', number: 1 });
    perform(world, show(5));
    await exportAll(world, 'delta');
    expect(await load(world.dataDir, warehouse)).toContain('persons: changes');
    await holds(2, 3, 4, 5);
    perform(world, { do: 'remove', dataset: 'persons', number: 4 });
    await exportAll(world, 'full');
    expect(await load(world.dataDir, warehouse)).toContain('persons: everything');
    await holds(2, 3, 5);
  });

  test('who was erased from the published files leaves the warehouse, before anything else is published', async () => {
    const [world, warehouse] = [openWorld(), open()];
    perform(world, show(1, 2, 3));
    await exportAll(world, 'full');
    perform(world, show(4));
    await exportAll(world, 'delta');
    await load(world.dataDir, warehouse);
    const published = publishedFilesIn(world.dataDir);
    const [snapshotId = ''] = currentIds(published.readCurrent(), 'persons');
    const parts = published.readManifest({ dataset: 'persons', snapshotId }).files.map(({ name }) => name);
    const subject = { ...nobody, person_uuid: ['person-2'] };
    await rewriteSnapshot(published, 'persons', snapshotId, parts, [subject], { epoch: 1, signal });
    expect((await differences(world.dataDir, warehouse)).flatMap(({ differences: rows }) => rows)).toEqual([
      { key: 'person-2', is: 'extra' },
    ]);
    expect(await load(world.dataDir, warehouse)).toContain('persons: everything');
    expect(await warehouse.read('SELECT person_uuid FROM $persons ORDER BY 1')).toEqual([
      ['person-1'],
      ['person-3'],
      ['person-4'],
    ]);
    expect(await differences(world.dataDir, warehouse)).toEqual([]);
  });

  test('a table whose rows were all removed, as in a copy of its definition, is loaded whole', async () => {
    const [dataDir, warehouse] = [temporaryFolder(), open()];
    await publishRows(dataDir, 'persons', [personRow('a'), personRow('b')]);
    await publishRows(dataDir, 'recordings', []);
    await load(dataDir, warehouse);
    await warehouse.remove('persons', `person_uuid <> ''`);
    expect(await load(dataDir, warehouse)).toEqual(['persons: everything', 'recordings: nothing']);
    expect(await differences(dataDir, warehouse)).toEqual([]);
  });

  test('a row that somebody dropped, doubled or altered is named, a distinct id by its MD5', async () => {
    const [dataDir, warehouse] = [temporaryFolder(), open()];
    await publishRows(
      dataDir,
      'persons',
      Array.from({ length: 600 }, (_, at) => personRow(`p${String(at).padStart(3, '0')}`)),
      { partRows: 1000 },
    );
    const ids = [...distinctIdRows(50)];
    const [{ distinct_id: id } = {}] = ids;
    await publishRows(dataDir, 'distinct_ids', ids);
    await load(dataDir, warehouse);
    await warehouse.remove('persons', `person_uuid = 'p007'`);
    await warehouse.double('persons', `person_uuid = 'p123'`);
    await warehouse.alter('persons', `name = 'Eve'`, `person_uuid = 'p456'`);
    await warehouse.remove('distinct_ids', `distinct_id = '${String(id)}'`);
    const [persons, distinctIds, ...others] = await differences(dataDir, warehouse);
    expect(persons?.differences.toSorted((a, b) => (a.key < b.key ? -1 : 1))).toEqual([
      { key: 'p007', is: 'missing' },
      { key: 'p123', is: 'doubled' },
      { key: 'p456', is: 'stale' },
    ]);
    expect(persons).toMatchObject({ dataset: 'persons', state: 'differs', rows: { published: 600, held: 600 } });
    const key = createHash('md5').update(String(id)).digest('hex');
    expect(distinctIds?.differences).toEqual([{ key, is: 'missing' }]);
    expect(others).toEqual([]);
  });

  test('a promoted column appears, has another type, and goes', async () => {
    const [dataDir, warehouse] = [temporaryFolder(), open()];
    const rows = ['a', 'b'].map((key, at) => personRow(key, { properties: `{"plan":"${at}","size":${at}}` }));
    const publishAndLoad = async (...promote: { property: string; type: 'string' | 'int64' }[]): Promise<void> => {
      await publishRows(dataDir, 'persons', rows, {
        promote: promote.map(({ property, type }) => ({ property, as: property, type })),
      });
      await load(dataDir, warehouse);
      expect(await differences(dataDir, warehouse)).toEqual([]);
    };
    await publishAndLoad();
    await publishAndLoad({ property: 'plan', type: 'string' });
    await publishAndLoad({ property: 'plan', type: 'string' }, { property: 'size', type: 'string' });
    await publishAndLoad({ property: 'plan', type: 'string' }, { property: 'size', type: 'int64' });
    expect(await warehouse.read('SELECT plan, size + 1 FROM $persons ORDER BY 1')).toEqual([
      ['0', '1'],
      ['1', '2'],
    ]);
    await publishAndLoad({ property: 'size', type: 'int64' });
    await expect(warehouse.read('SELECT plan FROM $persons')).rejects.toThrow(/plan|Code: 47/);
  });

  test('a table of somebody else, of another mirror, or newer than the files is refused, and stays', async () => {
    const [dataDir, older, warehouse] = [temporaryFolder(), temporaryFolder(), open()];
    await publishRows(dataDir, 'persons', [personRow('a'), personRow('b')]);
    await load(dataDir, warehouse);
    await expect(load(dataDir, warehouse, 'other')).rejects.toMatchObject({
      code: 'usage',
      message: 'the warehouse has a table persons that was not loaded from this mirror',
    });
    const { db, ...world } = openWorld();
    perform({ db, ...world }, show(1));
    await exportAll({ db, ...world }, 'full', world.settings, ['persons']);
    await expect(load(world.dataDir, warehouse)).rejects.toMatchObject({ code: 'storage' });
    await publishRows(older, 'recordings', [recordingRow('r')]);
    expect(await differences(older, warehouse)).toMatchObject([{ dataset: 'recordings', state: 'not_loaded' }]);
    await warehouse.copy('persons', 'recordings');
    await expect(load(older, warehouse)).rejects.toMatchObject({
      code: 'usage',
      message: 'the warehouse has a table recordings that was not loaded from this mirror',
    });
    for (const table of ['persons', 'recordings'])
      expect(await warehouse.read(`SELECT person_uuid FROM $${table} ORDER BY 1`)).toEqual([['a'], ['b']]);
  });
}
