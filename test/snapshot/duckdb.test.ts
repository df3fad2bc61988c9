import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { openDuckDb, parquetRows, sqlPaths, sqlText, withDuckDb } from '../../src/snapshot/duckdb.ts';
import { temporaryFolder } from './temporary-folder.ts';

const refused = /disabled by configuration|disabled through configuration|configuration has been locked/;

test.for([
  ['reading a file elsewhere', `SELECT * FROM read_text('/etc/hostname')`],
  ['writing a file elsewhere', `COPY (SELECT 1) TO '/tmp/not-allowed.parquet'`],
  ['leaving the folder by its name', `SELECT * FROM read_text('FOLDER/../outside.txt')`],
  ['the network', `SELECT * FROM read_csv('http://127.0.0.1:9/data.csv')`],
  ['installing an extension', 'INSTALL httpfs'],
  ['loading an extension', 'LOAD httpfs'],
  ['allowing it again', 'SET enable_external_access = true'],
  ['more memory', `SET memory_limit = '64GB'`],
] as const)('refuses %s', async ([, sql]) => {
  const folder = temporaryFolder();
  using database = await openDuckDb({ folders: [folder], memoryMaxMb: 64, threads: 1 });
  await expect(database.connection.run(sql.replace("'FOLDER", sqlText(folder).slice(0, -1)))).rejects.toThrow(refused);
});

test('reads inside its folder, whatever the name', async () => {
  const folder = temporaryFolder();
  const path = join(folder, "it's.txt");
  writeFileSync(path, 'inside');
  using database = await openDuckDb({ folders: [folder], memoryMaxMb: 64, threads: 1 });
  const reader = await database.connection.runAndReadAll(`SELECT content FROM read_text(${sqlText(path)})`);
  expect(reader.getRows()).toEqual([['inside']]);
});

test('a Parquet file is read for itself, with its own columns, whatever its folder and the files beside it are called', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'a[1]?/name=acme/part*.parquet');
  using database = await openDuckDb({ folders: [folder], memoryMaxMb: 64, threads: 1 });
  for (const place of [
    'a[1]?/name=acme/part*.parquet',
    'a[1]?/name=acme/part2.parquet',
    'a1x/name=acme/part*.parquet',
  ]) {
    mkdirSync(dirname(join(folder, place)), { recursive: true });
    await database.connection.run(`COPY (SELECT ${sqlText(place)} AS name) TO ${sqlText(join(folder, place))}`);
  }
  const rows = await database.connection.runAndReadAll(`SELECT * FROM ${parquetRows([path], 'filename = true')}`);
  expect(rows.getRowObjectsJS()).toEqual([{ name: 'a[1]?/name=acme/part*.parquet', filename: path }]);
  const footers = await database.connection.runAndReadAll(
    `SELECT file_name FROM parquet_file_metadata(${sqlPaths([path])})`,
  );
  expect(footers.getRows()).toEqual([[path]]);
});

test('an abort interrupts a query, with its reason', async () => {
  const controller = new AbortController();
  const reason = new Error('stop');
  const limits = { folders: [temporaryFolder()], memoryMaxMb: 64, threads: 1, signal: controller.signal };
  const running = withDuckDb(limits, (connection) => {
    const query = connection.run(`SELECT sum(hash(a.range, b.range)) FROM range(10000000) a, range(10000000) b`);
    setTimeout(() => controller.abort(reason), 20);
    return query;
  });
  await expect(running).rejects.toBe(reason);
  await expect(withDuckDb(limits, () => Promise.resolve(1))).rejects.toBe(reason);
});

test('a text keeps the byte order mark with which it begins', async () => {
  using database = await openDuckDb({ folders: [], memoryMaxMb: 64, threads: 1 });
  const sql = `SELECT chr(65279) || 'ann', [chr(65279) || 'a text of more bytes']`;
  const read = await database.connection.runAndReadAll(sql);
  expect(read.getRowsJS()).toEqual([['\ufeffann', ['\ufeffa text of more bytes']]]);
});
