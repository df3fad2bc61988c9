import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Row, publishedShapes } from '../../src/snapshot/columns.ts';
import { writeParquetFile } from '../../src/snapshot/parquet-file.ts';
import { expectedRows, readWithDuckDb, readWithHyparquet } from './parquet-readers.ts';
import { plainFile } from './plain-file.ts';
import { personRow } from './rows.ts';
import { temporaryFolder } from './temporary-folder.ts';

const text = fc.string({ unit: 'binary', maxLength: 40 });
const time = fc
  .record({
    ms: fc.integer({ min: Date.UTC(1, 0, 1), max: Date.UTC(9999, 11, 31) }),
    digits: fc.stringMatching(/^\d{3}$/),
  })
  .map(({ ms, digits }) => new Date(ms).toISOString().replace('Z', `${digits}Z`))
  .filter((iso) => /^\d{4}-/.test(iso));
const json = fc.json({ stringUnit: 'binary' });
const orNull = (values: fc.Arbitrary<string>) => fc.option(values, { freq: 4 });

const person: fc.Arbitrary<Row> = fc.record({
  id: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  name: orNull(text),
  distinct_ids: orNull(fc.array(text, { maxLength: 5 }).map((ids) => JSON.stringify(ids))),
  properties: orNull(json),
  created_at: orNull(time),
  extra: orNull(json),
  changed_at: time,
});
const people = fc
  .uniqueArray(fc.tuple(text, person), { maxLength: 60, selector: ([key]) => key })
  .map((pairs) =>
    pairs
      .toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .map(([key, fields]) => personRow(key, fields)),
  );

test('whatever the rows hold, two independent readers read it back equal', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'part.parquet');
  const shape = publishedShapes.persons;
  await fc.assert(
    fc.asyncProperty(people, async (rows) => {
      await writeParquetFile(plainFile(path, shape, rows));
      expect(await readWithHyparquet(path)).toEqual(expectedRows(shape, rows));
      expect(await readWithDuckDb(path, shape)).toEqual(expectedRows(shape, rows));
    }),
    { numRuns: 40 },
  );
});
