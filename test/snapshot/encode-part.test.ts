import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { nobody } from '../../src/contract/identity.ts';
import { measureFile, sha256, sha256File } from '../../src/core/digest.ts';
import { publishedShapes } from '../../src/snapshot/columns.ts';
import { parquetRows, sqlText, withDuckDb } from '../../src/snapshot/duckdb.ts';
import { type EncodedPart, encodePart, refuseMarked, type Twin } from '../../src/snapshot/encode-part.ts';
import { emptyMarks, registerTrim } from '../../src/snapshot/mark-rows.ts';
import { temporaryFolder } from './temporary-folder.ts';

const { signal } = new AbortController();
const inFile = ['person_uuid', 'person_id', 'name', 'distinct_ids', 'properties', 'created_at', 'extra', 'changed_at'];
// As the manifest of an older file has them: a field that was added since is not in it.
const columns = publishedShapes.persons.columns
  .filter(({ name }) => inFile.includes(name))
  .map(({ name, type }, index) =>
    Object.assign({ name, type, id: 2 * index + 1 }, type === 'list<string>' ? { element_id: 2 * index + 2 } : {}),
  );

/** Encodes a part of the persons with these keys again, marked as `mark` does. */
function encode(
  keys: readonly string[],
  mark: (connection: DuckDBConnection, paths: readonly string[]) => Promise<void>,
  twin?: Twin,
): Promise<EncodedPart & { keys: unknown[] }> {
  const folder = temporaryFolder();
  const path = join(folder, 'part-00001.parquet');
  const to = { name: 'part-00002.parquet', path: join(folder, 'new', 'part-00002.parquet') };
  mkdirSync(join(folder, 'new'));
  return withDuckDb({ folders: [folder], memoryMaxMb: 256, threads: 1, signal }, async (connection) => {
    await connection.run(`COPY (SELECT unnest(['${keys.join("','")}']) AS person_uuid, 1::BIGINT AS person_id, 'n' AS name,
      ['ann', 'bob'] AS distinct_ids, '{}' AS properties, NULL::TIMESTAMPTZ AS created_at, NULL::VARCHAR AS extra,
      NULL::TIMESTAMPTZ AS changed_at) TO ${sqlText(path)} (FORMAT parquet)`);
    registerTrim(connection, 'persons', { ...nobody, distinct_id: ['ann'] });
    const file = { name: 'part-00001.parquet', rows: keys.length, ...(await measureFile(path)) };
    const part = { dataset: 'persons', snapshotId: '20261120T125500.123Z', ...file, path, number: 0 } as const;
    await mark(connection, [path]);
    const encoded = await encodePart(connection, part, columns, to, 1, twin);
    await refuseMarked(connection, mark, encoded.isTrimmed ? [{ part, path: to.path }] : []);
    expect(encoded.file).toMatchObject({ name: to.name, sha256: await sha256File(to.path) });
    const left = twin ? undefined : await connection.runAndReadAll(`SELECT person_uuid FROM ${parquetRows([to.path])}`);
    return { ...encoded, keys: left?.getRows().flat() ?? [] };
  });
}

/** Marks as told in a file of the old name, and nothing in the new one. */
const marking =
  (sql: string) =>
  async (connection: DuckDBConnection, [path]: readonly string[]): Promise<void> => {
    await emptyMarks(connection);
    if (path?.endsWith('part-00001.parquet')) await connection.run(sql);
  };

test('a part whose rows are marked rightly is encoded again', async () => {
  const mark = marking(`INSERT INTO trimmed VALUES (0, 1, 'b')`);
  expect(await encode(['a', 'b', 'c'], mark)).toMatchObject({ file: { rows: 3 }, removed: [] });
});

test('the rows that stay keep their order, whatever it is', async () => {
  const mark = marking(`INSERT INTO gone (file, row) VALUES (0, 1)`);
  const { file, keys } = await encode(['c', 'x', 'a', 'b'], mark);
  expect(file.rows).toBe(3);
  expect(keys).toEqual(['c', 'a', 'b']);
});

test.each([
  ['gets a copy of it', { content: 'twin', rows: 1 }, 'twin'],
  ['is encoded, where the twin is not as it was', { content: 'other', rows: 1 }, undefined],
  ['is encoded, where the twin had another number of rows', { content: 'twin', rows: 2 }, undefined],
])('a part with a twin %s', async (_what, { content, rows }, copied) => {
  const file = { name: 'part-00007.parquet', rows, bytes: 4, sha256: sha256('twin') };
  const twin = {
    file,
    removed: [1],
    removedOf: [1],
    isTrimmed: false,
    copyTo: (path: string) => writeFileSync(path, content),
  };
  const mark = marking(`INSERT INTO gone VALUES (0, 1, 0)`);
  const encoded = await encode(['a', 'b'], mark, twin);
  expect(encoded).toMatchObject({ removed: [1], removedOf: [1], file: { rows: 1 } });
  expect(encoded.file.sha256 === sha256('twin')).toBe(copied === 'twin');
});

test.for([
  [
    'fewer rows are gone than were marked',
    ['a', 'b', 'c'],
    marking(`INSERT INTO gone (file, row) VALUES (0, 0), (0, 3)`),
    'would not hold exactly the rows that should stay',
  ],
  [
    'another row than the marked one is changed',
    ['a', 'b', 'c'],
    marking(`INSERT INTO trimmed VALUES (0, 0, 'b')`),
    'would not hold exactly the rows that should stay',
  ],
  [
    'what is to go is still there',
    ['a', 'b', 'c'],
    async (connection: DuckDBConnection): Promise<void> => {
      await emptyMarks(connection);
      await connection.run(`INSERT INTO trimmed VALUES (0, 0, 'a')`);
    },
    'would still hold rows that should be removed',
  ],
] as const)('refused when %s', async ([, keys, mark, message]) => {
  await expect(encode(keys, mark)).rejects.toMatchObject({
    code: 'storage',
    message: expect.stringContaining(message) as string,
  });
});
