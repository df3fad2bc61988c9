import { randomUUID } from 'node:crypto';
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { rowsRead, type Reader } from '../../src/load/duckdb-reader.ts';
import { withWarehouse } from '../../src/load/open-warehouse.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

const child = fileURLToPath(new URL('make-file-child.ts', import.meta.url));

/** Fills a warehouse of a file. No file of the process can be longer than so many blocks of 512 bytes. */
function fill(file: string, { blocks, rows = 1 }: { blocks: string; rows?: number }) {
  const command = ['sh', process.execPath, child, join(file, '..'), file, String(rows)];
  return spawnSync('sh', ['-c', `ulimit -f ${blocks} && exec "$@"`, ...command], { encoding: 'utf8' });
}

test('a file of a warehouse that ended in the middle of being made is named, and made by the next load', () => {
  const folder = freshFolder();
  const file = join(folder, 'warehouse.duckdb');
  for (const blocks of ['0', '8', '16']) {
    const { status, stderr } = fill(file, { blocks });
    expect(status).not.toBe(0);
    expect(stderr).toContain(`the file of the warehouse cannot be opened: ${file} (IO Error)`);
    expect(readdirSync(folder)).toEqual([]);
  }
  expect(fill(file, { blocks: 'unlimited' }).status).toBe(0);
});

test('a file of a warehouse that cannot grow is named, and not the published files', () => {
  const file = join(freshFolder(), 'warehouse.duckdb');
  const { status, stderr } = fill(file, { blocks: '64', rows: 1_000_000 });
  expect(status).not.toBe(0);
  expect(stderr).toContain(`cannot read or write ${file}: `);
  expect(stderr).toContain(`check the volume of ${file} and permissions`);
});

test.for([
  ['IO Error: Could not write file "/srv/w.duckdb": No space left on device', '/srv/w.duckdb: the disk is full'],
  ['IO Error: Could not write file "/srv/w.duckdb": Input/output error', '/srv/w.duckdb: the disk answers with errors'],
  ['IO Error: Could not write file "/srv/w.duckdb.wal": Read-only file system', '/srv/w.duckdb: the disk is read-only'],
  ['FATAL Error: fsync failed!', '/srv/w.duckdb: the disk answers with errors'],
  [
    'IO Error: Could not read from file "/data/part-0.parquet": Input/output error',
    'files: the disk answers with errors',
  ],
] as const)('of %s it is told that it cannot read or write %s', async ([words, told]) => {
  const reader = { runAndReadAll: () => Promise.reject(new Error(words)) } as unknown as Reader;
  await expect(rowsRead(reader, 'SELECT 1', '/srv/w.duckdb')).rejects.toThrow(told);
});

test('the next load removes what a kill has left of this very file', async () => {
  const folder = freshFolder();
  const file = join(folder, 'warehouse.duckdb');
  const [old, young, other] = ['warehouse.duckdb', 'warehouse.duckdb', 'other.duckdb'].map(
    (name) => `${name}.draft-${randomUUID()}`,
  ) as [string, string, string];
  for (const name of [old, young, other]) writeFileSync(join(folder, name), '');
  for (const name of [old, other]) utimesSync(join(folder, name), new Date(0), new Date(0));
  const tools = { published: { localFolder: folder }, isReadOnly: false, signal: new AbortController().signal };
  const place = { engine: 'duckdb', at: file, schema: 'mirror', password: null } as const;
  await withWarehouse(place, tools, () => Promise.resolve());
  expect(readdirSync(folder).toSorted()).toEqual([other, 'warehouse.duckdb', young].toSorted());
});

test('of loads that make a file at once, each that ends well has written into the one that stays', async () => {
  const folder = freshFolder();
  const file = join(folder, 'warehouse.duckdb');
  const endOf = (schema: string): Promise<string | undefined> =>
    new Promise((resolve) => {
      const running = spawn(process.execPath, [child, folder, file, '1', schema], { stdio: 'ignore' });
      running.on('close', (code) => resolve(code === 0 ? schema : undefined));
    });
  const ended = await Promise.all(['one', 'two', 'three', 'four'].map(endOf));
  const done = ended.filter((schema) => schema !== undefined);
  expect(done).not.toEqual([]);
  const database = await DuckDBInstance.create(file);
  const connection = await database.connect();
  const found = await connection.runAndReadAll(
    `SELECT schema_name FROM duckdb_tables() WHERE database_name = 'warehouse'`,
  );
  database.closeSync();
  expect(found.getRowsJson().flat()).toEqual(expect.arrayContaining(done));
});
