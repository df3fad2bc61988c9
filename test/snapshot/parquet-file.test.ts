import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { expect, test } from 'vitest';
import { type ColumnType, type DatasetShape, type Row, publishedShapes } from '../../src/snapshot/columns.ts';
import { parquetRows } from '../../src/snapshot/duckdb.ts';
import { type ParquetFile, writeParquetFile } from '../../src/snapshot/parquet-file.ts';
import { queryParquet } from '../../src/snapshot/read-parquet.ts';
import type { WrittenRows } from '../../src/snapshot/row-batches.ts';
import {
  expectedOfParquetjs,
  expectedRows,
  readWithDuckDb,
  readWithHyparquet,
  readWithParquetjs,
} from './parquet-readers.ts';
import { plainFile } from './plain-file.ts';
import { distinctIdRows, personRow, recordingRow } from './rows.ts';
import { temporaryFolder } from './temporary-folder.ts';

const { persons, recordings, distinct_ids: distinctIds } = publishedShapes;

const awkwardPersons = [
  personRow('a', { id: 9_007_199_254_740_993n, name: '😀' }),
  personRow('b', { id: 9_223_372_036_854_775_807n, name: 'nul \0 and line \u2028 separator' }),
  personRow('c', { id: -9_223_372_036_854_775_808n, name: '' }),
  personRow('d', { id: null, name: null, properties: null, created_at: null, distinct_ids: null }),
  personRow('e', { distinct_ids: '[]', extra: '{"left":1}' }),
  personRow('f', { distinct_ids: JSON.stringify(['', 'ü', '👩‍👩‍👧', 'a"b\\c']) }),
  personRow('g', { properties: String.raw`{"broken":"\ud800","number":12345678901234567890}` }),
  personRow('h', { properties: JSON.stringify('é'.repeat(500_000)) }),
  personRow('i', { created_at: '1969-12-31T23:59:59.999999Z' }),
  personRow('j', { created_at: '0001-01-01T00:00:00Z' }),
  personRow('k', { created_at: '9999-12-31T23:59:59.999999Z' }),
  personRow('\uffff', { name: 'last of the single units' }),
  personRow('😀', { name: 'after all of those in UTF-8, before in UTF-16' }),
];

async function write(
  shape: DatasetShape,
  rows: Iterable<Row>,
  options: Partial<ParquetFile> = {},
): Promise<{ path: string; written: WrittenRows }> {
  const folder = temporaryFolder();
  const path = join(folder, "it's a part.parquet");
  const written = await writeParquetFile({ ...plainFile(path, shape, rows), ...options });
  return { path, written };
}

// It reads repeated times (a dictionary of int64) as text and fails at them, as at microseconds beyond 2^53.
function readableByParquetjs(row: Row, index: number): Row {
  const time = `2024-05-01T02:03:${String(index + 10)}.123456Z`;
  return Object.fromEntries(
    Object.entries(row).map(([field, value]) => [field, /_(?:at|time)$/.test(field) && value ? time : value]),
  );
}

test.for([
  ['persons', persons, awkwardPersons],
  ['recordings', recordings, [recordingRow('r1'), recordingRow('r2', { viewers: '[]', ongoing: null })]],
  ['distinct_ids', distinctIds, [...distinctIdRows(3)]],
] as const)('%s reads back equal with three independent readers', async ([, shape, rows]) => {
  const { path } = await write(shape, rows);
  expect(await readWithHyparquet(path)).toEqual(expectedRows(shape, rows));
  expect(await readWithDuckDb(path, shape)).toEqual(expectedRows(shape, rows));
  const readable = rows.map(readableByParquetjs);
  const { path: readablePath } = await write(shape, readable);
  expect(await readWithParquetjs(readablePath, shape)).toEqual(expectedOfParquetjs(shape, readable));
});

test('a value that its column cannot hold is null and counted', async () => {
  const rows = [
    personRow('a', { created_at: '+010000-01-01T00:00:00Z' }),
    personRow('b', { distinct_ids: '{"not":"a list"}' }),
    personRow('c', { id: 1.5 }),
  ];
  const { path, written } = await write(persons, rows);
  expect(written).toEqual({ rows: 3, unrepresentable: 3 });
  const [a, b, c] = await readWithHyparquet(path);
  expect([a?.['created_at'], b?.['distinct_ids'], c?.['person_id']]).toEqual([null, null, null]);
});

const duckDbTypes: Partial<Record<ColumnType, string>> = {
  string: 'VARCHAR',
  int64: 'BIGINT',
  'list<string>': 'VARCHAR[]',
  'timestamp[us, UTC]': 'TIMESTAMP WITH TIME ZONE',
};

test('no rows give a valid file that has the schema', async () => {
  const { path, written } = await write(persons, []);
  expect(written).toEqual({ rows: 0, unrepresentable: 0 });
  expect(await readWithHyparquet(path)).toEqual([]);
  const described = await queryParquet(join(path, '..'), `DESCRIBE SELECT * FROM ${parquetRows([path])}`);
  expect(described.map((column) => [column['column_name'], column['column_type']])).toEqual(
    persons.columns.map(({ name, type }) => [name, duckDbTypes[type]]),
  );
});

test('JSON is a plain string, and times are UTC to the microsecond', async () => {
  const { path } = await write(persons, awkwardPersons);
  const { schema } = await parquetMetadataAsync(await asyncBufferFromFile(path));
  const columnNamed = (name: string) => schema.find((element) => element.name === name);
  expect(columnNamed('properties')).toMatchObject({ type: 'BYTE_ARRAY', converted_type: 'UTF8' });
  expect(columnNamed('created_at')?.logical_type).toEqual({ type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' });
});

test('row groups are bounded, in key order, and have bounds that let a reader skip them', async () => {
  const { path } = await write(distinctIds, distinctIdRows(70_000));
  const { row_groups: groups } = await parquetMetadataAsync(await asyncBufferFromFile(path));
  expect(groups.map((group) => Number(group.num_rows))).toEqual([40_960, 29_040]);
  const bounds = groups.map((group) => group.columns[0]?.meta_data?.statistics);
  expect(bounds.map((statistics) => statistics?.min_value)).toEqual(['d00000000', 'd00040960']);
  const rows = await readWithHyparquet(path);
  expect(rows).toEqual(expectedRows(distinctIds, [...distinctIdRows(70_000)]));
});

test('a filter on an emoji finds its row among several row groups', async () => {
  function* people(): Generator<Row, void> {
    for (let index = 0; index < 50_000; index += 1)
      yield personRow(`p${String(index).padStart(6, '0')}`, { name: index === 33_333 ? '😀' : `\uffee${index % 7}` });
  }
  const { path } = await write(persons, people());
  const found = await queryParquet(
    join(path, '..'),
    `SELECT person_uuid FROM ${parquetRows([path])} WHERE name = '😀'`,
  );
  expect(found).toEqual([{ person_uuid: 'p033333' }]);
});

test('rows of a megabyte make small row groups', async () => {
  const wide = `"${'w'.repeat(1_000_000)}"`;
  const rows = Array.from({ length: 60 }, (_, index) => personRow(String(index + 10), { properties: wide }));
  const { path } = await write(persons, rows);
  const { row_groups: groups } = await parquetMetadataAsync(await asyncBufferFromFile(path));
  expect(Math.max(...groups.map((group) => Number(group.num_rows)))).toBeLessThan(40);
  expect(statSync(path).size).toBeLessThan(1_000_000);
});

test.for([
  ['rows out of order', [personRow('b'), personRow('a')], 'rows out of order'],
  ['a key twice', [personRow('a'), personRow('a')], 'rows out of order'],
  ['UTF-16 order', [personRow('😀'), personRow('\uffff')], 'rows out of order'],
  ['a row without its key', [{ ...personRow('a'), uuid: null }], 'a row without the field uuid'],
  ['a row without a field', [{ uuid: 'a', id: 1 }], 'a row without the field name'],
] as const)('refuses %s', async ([, rows, message]) => {
  await expect(write(persons, rows)).rejects.toThrow(message);
});

test('an error of the rows comes out as it is, and the rows are closed', async () => {
  const failure = new Error('the database went away');
  let isClosed = false;
  function* failing(): Generator<Row, void> {
    try {
      yield* distinctIdRows(10_000);
      throw failure;
    } finally {
      isClosed = true;
    }
  }
  await expect(write(distinctIds, failing())).rejects.toBe(failure);
  expect(isClosed).toBe(true);
});

test('an abort ends the writing with its reason, soon', async () => {
  const controller = new AbortController();
  const reason = new Error('stop');
  let taken = 0;
  const writing = write(distinctIds, distinctIdRows(10_000_000), {
    signal: controller.signal,
    onRows: (rows) => {
      taken = rows;
      if (rows > 10_000) controller.abort(reason);
    },
  });
  await expect(writing).rejects.toBe(reason);
  expect(taken).toBeLessThan(20_000);
});

test('timers run while a file is written', async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  await write(distinctIds, distinctIdRows(200_000));
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
});

test('a path that cannot be written is a storage error without SQL or rows in it', async () => {
  const folder = temporaryFolder();
  const writing = writeParquetFile(plainFile(join(folder, 'missing', 'part.parquet'), distinctIds, distinctIdRows(10)));
  await expect(writing).rejects.toMatchObject({
    name: 'AppError',
    code: 'storage',
    message: 'cannot write a Parquet file: IO Error',
  });
});

test.runIf(existsSync('/dev/full'))('a full disk is a storage error whose hint says so', async () => {
  const writing = writeParquetFile(plainFile('/dev/full', distinctIds, distinctIdRows(100_000)));
  await expect(writing).rejects.toMatchObject({
    code: 'storage',
    message: 'cannot write a Parquet file: the disk is full',
    hint: expect.stringContaining('free space') as string,
  });
});

test('leaves nothing beside the file', async () => {
  const { path } = await write(distinctIds, distinctIdRows(100_000));
  expect(readdirSync(join(path, '..'))).toEqual(["it's a part.parquet"]);
});
