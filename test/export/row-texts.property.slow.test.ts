import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { pagedDatasets, type PagedDataset } from '../../src/contract/datasets.ts';
import type { ColumnValue } from '../../src/contract/tolerant-reader.ts';
import { RowText } from '../../src/contract/row-text.ts';
import { isoToUtc } from '../../src/core/time.ts';
import { splitRows, writeParts } from '../../src/export/export-dataset.ts';
import type { Database } from '../../src/mirror/database.ts';
import { withSnapshotSource } from '../../src/mirror/snapshot-source.ts';
import { publishedShapes } from '../../src/snapshot/columns.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';
import { readWithDuckDb, type ReadRow } from '../snapshot/parquet-readers.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { numbering } from './export-fixture.ts';

/** Texts, control characters and lone surrogates among them, and the marks that stand between rows and fields. */
const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 12 }) },
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 6 }),
  fc.string({
    unit: fc.constantFrom('\u001B', '\u001C', '\u001D', '\u001E', '\u001F', '\0', '"', '\\', ',', '[', 'e\u0301'),
    maxLength: 4,
  }),
  fc.constantFrom('', '[]', '\u001D', '","', 'null'),
);
const list = fc.array(text, { maxLength: 4 }).map((items) => JSON.stringify(items));
const json = fc.json({ stringUnit: 'binary' });
const time = fc
  .tuple(
    fc.integer({ min: Date.parse('0000-01-01T00:00:00Z'), max: Date.parse('9999-12-31T23:59:59Z') }),
    fc.stringMatching(/^\d{1,9}$/),
    fc.boolean(),
  )
  .map(
    ([ms, digits, isWhole]) =>
      isoToUtc(new Date(ms).toISOString().replace(/\.\d+Z$/, isWhole ? 'Z' : `.${digits}Z`)) ?? null,
  );
const orNull = <T>(values: fc.Arbitrary<T>) => fc.option(values, { freq: 4 });
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const flag = fc.constantFrom(0n, 1n);

const fields: Record<PagedDataset, Record<string, fc.Arbitrary<ColumnValue>>> = {
  persons: {
    id: orNull(int64),
    name: orNull(text),
    distinct_ids: orNull(list),
    properties: orNull(json),
    created_at: orNull(time),
    extra: orNull(json),
  },
  recordings: {
    distinct_id: orNull(text),
    viewed: orNull(flag),
    viewers: orNull(list),
    recording_duration: orNull(int64),
    start_time: orNull(time),
    end_time: orNull(time),
    start_url: orNull(text),
    ongoing: orNull(flag),
    activity_score: orNull(fc.double({ noNaN: true, noDefaultInfinity: true })),
    person: orNull(json),
    extra: orNull(json),
  },
};

/** A row of nulls: with a mark as its key, it has one mark more than it has nulls. */
const nothing = Object.fromEntries(Object.keys(fields.recordings).map((name) => [name, null]));

/** What a dataset's parts hold, and what was counted while they were written. */
async function published(db: Database, dataset: PagedDataset | 'distinct_ids', partRows: number, asTexts: boolean) {
  const folder = temporaryFolder();
  const shape = publishedShapes[dataset];
  let texts = 0;
  const { files, ...sums } = await withSnapshotSource(
    db,
    dataset,
    { since: null, textsOfPart: asTexts ? partRows : null },
    ({ rows }) =>
      writeParts(
        splitRows(rows, partRows, (row) => {
          if (row instanceof RowText) texts += row.rows;
          return row;
        }),
        {
          folder,
          shape,
          columns: numbering(shape.columns),
          added: {},
          signal: new AbortController().signal,
          onProgress: () => undefined,
        },
      ),
  );
  const rows: unknown[] = [];
  for (const { name } of files) rows.push(await readWithDuckDb(join(folder, name), shape));
  return {
    rows,
    texts,
    written: { ...sums, bytes: null, files: files.map(({ name, rows: count }) => ({ name, count })) },
  };
}

test.for([...pagedDatasets])('%s read as texts are published as when each value is read', async (dataset) => {
  const arbitrary = fc.record({
    partRows: fc.integer({ min: 1, max: 40 }),
    rows: fc.uniqueArray(fc.tuple(text, fc.record(fields[dataset])), {
      selector: ([key]) => Buffer.from(key).toString('hex'),
      maxLength: 30,
    }),
  });
  const { db } = openTestMirror();
  const key = dataset === 'persons' ? 'uuid' : 'id';
  const columns = [key, ...Object.keys(fields[dataset]), 'first_seen_pass', 'changed_at'];
  const insert = db.prepare(
    `INSERT INTO ${dataset} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  );
  let texts = 0;
  await fc.assert(
    fc.asyncProperty(arbitrary, async ({ partRows, rows }) => {
      db.exec(`DELETE FROM ${dataset}`);
      for (const [id, row] of rows) insert.run(id, ...Object.values(row), 1, '2026-01-01T00:00:00.123Z');
      const plain = await published(db, dataset, partRows, false);
      const fast = await published(db, dataset, partRows, true);
      expect(fast.rows).toEqual(plain.rows);
      expect(fast.written).toEqual(plain.written);
      expect(plain.texts).toBe(0);
      texts += fast.texts;
    }),
    { numRuns: 30, examples: dataset === 'recordings' ? [[{ partRows: 1, rows: [['\u001D', nothing]] }]] : [] },
  );
  expect(texts).toBeGreaterThan(0);
});

test('distinct ids stand by person, read as texts as when each value is read, and their files say the least and greatest', async () => {
  const { db } = openTestMirror();
  const arbitrary = fc.record({
    partRows: fc.integer({ min: 5, max: 40 }),
    persons: fc.uniqueArray(fc.tuple(fc.uuid(), fc.uniqueArray(text, { maxLength: 5 })), {
      selector: ([uuid]) => uuid,
      maxLength: 8,
    }),
  });
  const bytesOf = (value: unknown): Buffer => Buffer.from(String(value));
  const inOrder = (rows: readonly ReadRow[], columns: readonly string[]): ReadRow[] => {
    const place = (row: ReadRow): Buffer => Buffer.concat(columns.map((name) => bytesOf(row[name])));
    return rows.toSorted((one, other) => Buffer.compare(place(one), place(other)));
  };
  let texts = 0;
  await fc.assert(
    fc.asyncProperty(arbitrary, async ({ partRows, persons }) => {
      db.exec(`DELETE FROM distinct_id_owners; DELETE FROM persons`);
      const taken = new Set<string>();
      for (const [uuid, ids] of persons) {
        const { lastInsertRowid: rowKey } = db
          .prepare(`INSERT INTO persons (uuid, first_seen_pass, changed_at) VALUES (?, 1, '2026-01-01T00:00:00.123Z')`)
          .run(uuid);
        for (const id of ids) {
          const bytes = bytesOf(id).toString('hex');
          if (!taken.has(bytes)) db.prepare(`INSERT INTO distinct_id_owners VALUES (?, ?)`).run(rowKey, id);
          taken.add(bytes);
        }
      }
      const plain = await published(db, 'distinct_ids', partRows, false);
      const fast = await published(db, 'distinct_ids', partRows, true);
      expect(fast.rows).toEqual(plain.rows);
      expect(fast.written).toEqual(plain.written);
      const parts = fast.rows as ReadRow[][];
      expect(parts.flat()).toHaveLength(taken.size);
      expect(parts.flat()).toEqual(inOrder(parts.flat(), ['person_uuid', 'distinct_id']));
      texts += fast.texts;
    }),
    {
      numRuns: 20,
      // What is between the marks of an id looks like a row of its own, and stands before the row that it is part of.
      examples: [[{ partRows: 5, persons: [['00000000-0000-1000-8000-000000000000', ['\u001F\u001E', '']]] }]],
    },
  );
  expect(texts).toBeGreaterThan(0);
});

test('ordinary rows are read as texts, those with nulls too', async () => {
  const { db } = openTestMirror();
  db.exec(`INSERT INTO persons (uuid, first_seen_pass, changed_at) VALUES ('p1', 1, '2026-01-01T00:00:00.123Z');
    INSERT INTO persons (uuid, id, name, distinct_ids, properties, created_at, extra, first_seen_pass, changed_at)
      VALUES ('p2', 7, 'Zoë 山田', '["a","b,[","ü","say \\"c\\"","d\\\\e\\n"]', '{"a":"\\u001f\\"x"}', '2026-01-01T00:00:00.123456Z', '{}', 1, '2026-01-01T00:00:00Z');
    INSERT INTO distinct_id_owners SELECT row_key, value FROM persons, json_each(persons.distinct_ids);
    INSERT INTO recordings (id, first_seen_pass, changed_at) VALUES ('r1', 1, '2026-01-01T00:00:00.123Z');
    INSERT INTO recordings (id, viewed, viewers, activity_score, start_time, first_seen_pass, changed_at)
      VALUES ('r2', 1, '[]', 0.1, '2026-01-01T00:00:00Z', 1, '2026-01-01T00:00:00.123Z')`);
  for (const [dataset, rows] of [
    ['persons', 2],
    ['recordings', 2],
    ['distinct_ids', 5],
  ] as const) {
    const fast = await published(db, dataset, 100, true);
    expect(fast.texts).toBe(rows);
    expect(fast.rows).toEqual((await published(db, dataset, 100, false)).rows);
  }
});

test('large rows are read one by one, so that no text is larger than memory allows', async () => {
  const { db } = openTestMirror();
  const insert = db.prepare(
    `INSERT INTO persons (uuid, properties, first_seen_pass, changed_at) VALUES (?, ?, 1, '2026-01-01T00:00:00.123Z')`,
  );
  for (let row = 0; row < 50; row += 1) insert.run(`person ${String(row).padStart(2, '0')}`, '{}');
  expect((await published(db, 'persons', 100, true)).texts).toBe(50);
  insert.run('large', JSON.stringify('x'.repeat(1024 * 1024)));
  const { texts, rows } = await published(db, 'persons', 100, true);
  expect(texts).toBe(0);
  expect(rows).toEqual((await published(db, 'persons', 100, false)).rows);
});

test('rows in other places than a large one are read as texts, and a text of middling rows has fewer of them', async () => {
  const { db } = openTestMirror();
  const insert = db.prepare(
    `INSERT INTO persons (uuid, properties, first_seen_pass, changed_at) VALUES (?, ?, 1, '2026-01-01T00:00:00.123Z')`,
  );
  const people = 2300;
  const middling = 100;
  db.transaction(() => {
    for (let row = 0; row < people; row += 1) insert.run(`person ${String(row).padStart(4, '0')}`, '{}');
    for (let row = 0; row < middling; row += 1) insert.run(`z ${row}`, JSON.stringify('y'.repeat(100 * 1024)));
  })();
  expect((await published(db, 'persons', 10_000, true)).texts).toBe(people + middling);
  insert.run('a large one', JSON.stringify('x'.repeat(1024 * 1024)));
  const { texts, rows } = await published(db, 'persons', 10_000, true);
  expect(texts).toBe(people + middling + 1 - 2048);
  expect(rows).toEqual((await published(db, 'persons', 10_000, false)).rows);
});
