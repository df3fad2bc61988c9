import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Identity } from '../../../src/contract/identity.ts';
import { createRowJudge } from '../../../src/erasure/scan/judge-rows.ts';
import { originOf } from '../../../src/erasure/scan/mirror-tables.ts';
import { makeNeedles } from '../../../src/erasure/scan/needles.ts';
import { createFindings } from '../../../src/erasure/scan/scan-task.ts';
import { createSharedText } from '../../../src/erasure/scan/shared-text.ts';
import { soughtRows } from '../../../src/erasure/scan/sought-rows.ts';
import { readEveryRow } from '../../../src/mirror/read-rows.ts';
import { loadTexts, openDuckDb, sqlName, sqlText } from '../../../src/snapshot/duckdb.ts';
import { openParquetReader, readParquetRows } from '../../../src/snapshot/read-parquet.ts';
import { freshFolder } from '../../mirror/open-test-mirror.ts';

// What a filter could take for something else: letters of two cases and of two normal forms, marks of JSON, SQL and patterns, ends.
const uuids = [
  '0192f0c0-aaaa-7bbb-8ccc-0000000000ab',
  '0192F0C0-AAAA-7BBB-8CCC-0000000000AB',
  'ABCDEF01-0000-0000-0000-000000000000',
];
const numbers = ['4242', '42', '4', '0', '-7', '007', '9007199254740993', '18446744073709551617', '1e3', '4242.0'];
const words =
  String.raw`al AL ál İ ß SS K ı % _l a% \ a\ \u0061l " a"l ' o'al [ [] {} ["al"] {"id":4242} "al" : ,`.split(' ');
const marks = ['a\u0301l', ' ', 'al ', ' al', '', '\t', '\n', 'a\nl', '\u007f', '\u0001', '\u2028', '\ufeffal', '🦤'];
const rare = [...'null true NaN * ? a/l her-device-0001 HER-DEVICE-0001'.split(' '), 'a'.repeat(900)];
const unseen = ['a\0l', '\0', '\ufffd', 'al\ufffd', 'a\ufffd', '\ud83e', 'a\udda4'];
const plain = [...uuids, ...numbers, ...words, ...marks, ...rare];

type Value = string | number | bigint | Uint8Array | null;

/** A few texts that all have in common who is in a world. */
const pools = fc.tuple(
  fc.uniqueArray(
    fc.oneof(
      { weight: 24, arbitrary: fc.constantFrom('al', ...plain) },
      fc.constantFrom(...unseen),
      fc.string({ unit: 'binary', maxLength: 3 }),
    ),
    { minLength: 2, maxLength: 6 },
  ),
  fc.constantFrom(...uuids),
  fc.constantFrom(...numbers),
);

const changes: readonly ((one: string) => string)[] = [
  (one) => one.toUpperCase(),
  (one) => one.toLowerCase(),
  (one) => one.normalize('NFD'),
  (one) => `${one}\0`,
  (one) => `${one}l`,
  (one) => one.slice(0, -1),
];

/** What stands in the rows of a world: the texts of its pool, or nearly. */
function valuesOf([some, uuid, number]: [string[], string, string]) {
  const known = fc.constantFrom(...some, uuid, number);
  const text = fc.oneof(
    { weight: 8, arbitrary: known },
    { weight: 3, arbitrary: fc.tuple(known, fc.constantFrom(...changes)).map(([one, change]) => change(one)) },
    fc.constantFrom(...plain, ...unseen),
  );
  /** A text as JSON may spell it: each of its characters as itself, or escaped. */
  const jsonString = fc.tuple(text, fc.nat({ max: 12 })).map(([one, every]) => {
    const spelled = [...one].map((letter, index) => {
      const codes = Array.from({ length: letter.length }, (_, unit) => letter.charCodeAt(unit));
      const escaped = codes.map((code) => String.raw`\u${code.toString(16).padStart(4, '0')}`).join('');
      if (every > 0 && index % every === every - 1) return letter === '/' ? String.raw`\/` : escaped;
      return JSON.stringify(letter).slice(1, -1);
    });
    return `"${every > 8 ? JSON.stringify(one).slice(1, -1) : spelled.join('')}"`;
  });
  const space = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n ');
  const digits = number === '007' ? '4242' : number;
  const jsonNumber = fc.constantFrom(
    digits,
    digits,
    `${digits}.0`,
    `${digits}e0`,
    '42',
    '-7',
    '4.242e3',
    '42420E-1',
    '1e400',
  );
  const jsonList = fc
    .array(fc.oneof(jsonString, jsonString, jsonNumber, fc.constantFrom('null', '[]', '["al"]', '{}')), {
      maxLength: 4,
    })
    .chain((items) => space.map((gap) => `[${gap}${items.join(`${gap},${gap}`)}${gap}]`));
  const jsonValue = fc.oneof(
    jsonString,
    jsonString,
    jsonNumber,
    jsonNumber,
    jsonList,
    fc.constantFrom('null', 'true', '{"id":4242}'),
  );
  const jsonPerson = fc
    .array(
      fc.tuple(
        fc.constantFrom('"id"', '"id"', '"uuid"', '"distinct_ids"', '"name"', '"properties"', String.raw`"\u0069d"`),
        jsonValue,
      ),
      { maxLength: 7 },
    )
    .chain((fields) =>
      space.map((gap) => `{${fields.map(([name, value]) => `${gap}${name}${gap}:${gap}${value}${gap}`).join(',')}}`),
    );
  const json = fc.oneof(
    { weight: 3, arbitrary: jsonPerson },
    { weight: 3, arbitrary: jsonList },
    jsonValue,
    fc.constantFrom('{"id":4242', '[4242', 'al', '["al"', "['al']", '["al"]\0', '["a\nl"]'),
  );

  const value: fc.Arbitrary<Value> = fc.oneof(
    { weight: 8, arbitrary: text },
    { weight: 5, arbitrary: json },
    { weight: 2, arbitrary: fc.constantFrom(4242n, 42n, 0n, -7n, 9007199254740993n) },
    fc.constantFrom(4242.5, 4242, 42),
    fc.constantFrom(null, Buffer.from('al')),
  );
  const identity: fc.Arbitrary<Identity> = fc.record({
    person_uuid: fc.constantFrom([], [uuid.toLowerCase()], [uuid]),
    person_id: fc.constantFrom([], [number], [number, '42']),
    distinct_id: fc.subarray(some),
    recording_id: fc.subarray(some, { maxLength: 1 }),
  });
  return { value, json, jsonList, jsonPerson, identity };
}

/** The tables and datasets with rows that can name somebody, and what their columns are. */
const columnsOf = {
  persons: ['uuid', 'person_uuid', 'id', 'person_id', 'name', 'distinct_ids', 'properties'],
  recordings: ['id', 'distinct_id', 'person_uuid', 'person', 'start_url'],
  distinct_ids: ['distinct_id', 'person_uuid'],
  distinct_id_owners: ['person_row_key', 'distinct_id'],
  distinct_ids_lost: ['person_row_key', 'distinct_id'],
  playlist_recordings: ['short_id', 'recording_id', 'person_uuid', 'distinct_id'],
  changes: ['dataset', 'key', 'op'],
  deletions: ['dataset', 'key', 'person_uuid', 'merged_into'],
} as const;

type Table = keyof typeof columnsOf;
const worldOf = (tables: readonly Table[]) =>
  fc.tuple(pools, fc.constantFrom(...tables)).chain(([pool, table]) => {
    const { value, json, jsonList, jsonPerson, identity } = valuesOf(pool);
    const row = fc.tuple(
      ...columnsOf[table].map((column) => {
        if (column === 'dataset') return fc.constantFrom('persons', 'recordings', 'playlists', 'distinct_ids');
        if (column === 'person') return fc.oneof({ weight: 9, arbitrary: jsonPerson }, json);
        if (column === 'distinct_ids') return fc.oneof({ weight: 9, arbitrary: jsonList }, json);
        if (table === 'recordings') return fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, value);
        return fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, value);
      }),
    );
    return fc.record({
      table: fc.constant(table),
      rows: fc.array(row, { minLength: 40, maxLength: 80, size: 'max' }),
      subjects: fc
        .array(identity, { minLength: 1, maxLength: 2 })
        .map((all) => all.map((one, index) => ({ request: String(index), identity: one, values: [] }))),
    });
  });

const shared = createSharedText(makeNeedles([]));

/** Judges a row as a scan that leaves none out. */
function judgeOf(subjects: { request: string; identity: Identity; values: string[] }[]) {
  return (
    dataset: string,
    origin: ReturnType<typeof originOf>,
    columns: readonly string[],
    values: readonly unknown[],
  ): boolean => {
    const findings = createFindings(subjects.map(({ request }) => request));
    const judge = createRowJudge(subjects, findings, shared, undefined);
    judge.takeRow({ file: 'mirror.db', dataset, origin, columns, values });
    return findings.found((place) => place).subjects.some(({ hits }) => hits > 0);
  };
}

test('SQLite leaves out no row of the mirror that names a subject, whatever stands in it', () => {
  const sums = { rows: 0, named: 0, chosen: 0 };
  const tables = Object.keys(columnsOf).filter((one) => one !== 'distinct_ids') as Table[];
  fc.assert(
    fc.property(worldOf(tables), fc.boolean(), ({ table, rows, subjects }, isDamaged) => {
      const sought = soughtRows(subjects);
      const db = new Database(':memory:');
      // Without types, a column holds any value. A blob is told to be a text that is no UTF-8.
      const columns = columnsOf[table];
      db.exec(`CREATE TABLE ${table} (row INTEGER, ${columns.join(', ')})`);
      const insert = db.prepare(`INSERT INTO ${table} VALUES (?, ${columns.map(() => '?').join(', ')})`);
      for (const [row, values] of rows.entries()) insert.run(BigInt(row), ...values);
      if (isDamaged)
        for (const column of columns)
          db.exec(`UPDATE ${table} SET ${column} = CAST(CAST(${column} AS BLOB) || x'80' AS TEXT) WHERE row % 3 = 0`);
      const judge = judgeOf(subjects);
      const chosen = new Set<unknown>();
      for (const one of readEveryRow(db, sought?.inMirror)) if (one.table === table) chosen.add(one.values[0]);
      for (const one of readEveryRow(db)) {
        if (one.table !== table) continue;
        const isNamed = judge(table, originOf(table), one.columns, one.values);
        sums.rows += 1;
        sums.chosen += Number(chosen.has(one.values[0]));
        sums.named += Number(isNamed);
        if (isNamed) expect(chosen).toContain(one.values[0]);
      }
      db.close();
    }),
    { numRuns: 150 },
  );
  // Some rows name somebody, and some others are left out.
  expect(sums.named).toBeGreaterThan(0);
  expect(sums.chosen).toBeLessThan(sums.rows);
});

/** The types of columns that are no text. */
const types: Readonly<Record<string, string>> = { distinct_ids: 'VARCHAR[]', id: 'BIGINT', person_id: 'BIGINT' };

test('DuckDB leaves out no row of a Parquet file that names a subject, whatever stands in it', async () => {
  const folder = freshFolder();
  using database = await openDuckDb({ folders: [folder], memoryMaxMb: 256, threads: 1 });
  using reader = await openParquetReader([folder]);
  const sums = { rows: 0, named: 0, chosen: 0 };
  let number = 0;
  await fc.assert(
    fc.asyncProperty(
      worldOf(['persons', 'recordings', 'distinct_ids', 'playlist_recordings']),
      async ({ table, rows, subjects }) => {
        const path = join(folder, `part-${(number += 1)}.parquet`);
        const columns = columnsOf[table];
        {
          const texts = rows.map((values, row) => [
            String(row),
            ...values.map((one) => (one === null ? '' : one instanceof Uint8Array ? 'al' : String(one).toWellFormed())),
          ]);
          await loadTexts(database.connection, 'world', ['row', ...columns], texts);
          const fields = columns.map((column) => {
            const name = sqlName(column);
            return `${column === 'distinct_ids' ? `[${name}, 'x', NULL]` : `try_cast(${name} AS ${types[column] ?? 'VARCHAR'})`} AS ${name}`;
          });
          await database.connection.run(
            `COPY (SELECT CAST(row AS INTEGER) AS row, ${fields.join(', ')} FROM world) TO ${sqlText(path)} (FORMAT parquet)`,
          );
        }
        const judge = judgeOf(subjects);
        const chosen = new Set<unknown>();
        for await (const some of readParquetRows(reader, path, soughtRows(subjects)?.inParquet(table)))
          for (const [row] of some.rows) chosen.add(row);
        for await (const some of readParquetRows(reader, path))
          for (const row of some.rows) {
            const isNamed = judge(table, 'rightful', some.columns, row);
            sums.rows += 1;
            sums.chosen += Number(chosen.has(row[0]));
            sums.named += Number(isNamed);
            if (isNamed) expect(chosen).toContain(row[0]);
          }
      },
    ),
    { numRuns: 20 },
  );
  expect(sums.named).toBeGreaterThan(0);
  expect(sums.chosen).toBeLessThan(sums.rows);
});
