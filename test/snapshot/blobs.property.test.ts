import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { blobsOf, loadTexts, openDuckDb } from '../../src/snapshot/duckdb.ts';

/** Lengths around 12 bytes, to which DuckDB keeps a text in the vector itself, and long ones. */
const text = fc.oneof(
  fc.string({ maxLength: 14 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.integer({ min: 1, max: 20_000 }).map((length) => 'ø'.repeat(length)),
);

test.for([
  ['made by the query', `encode(concat(line, chr(9), line))`, (line: string) => `${line}\t${line}`],
  ['as they stand in a table', `encode(line)`, (line: string) => line],
  [
    'one twice, with others left out',
    `encode(CASE WHEN n % 3 = 0 THEN 'the same text, of more than 12 bytes' ELSE line END)`,
    null,
  ],
] as const)('the BLOBs of a chunk, %s, are those that DuckDB gives one by one', async ([, sql, own]) => {
  using database = await openDuckDb({ folders: ['/nowhere'], memoryMaxMb: 256, threads: 1 });
  const { connection } = database;
  await fc.assert(
    fc.asyncProperty(
      fc.array(text, { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 50 }),
      async (lines, times) => {
        const rows = Array.from({ length: times }, () => lines).flat();
        await loadTexts(
          connection,
          'lines',
          ['line'],
          rows.map((line) => [line]),
        );
        const of = `SELECT ${sql} AS line FROM (SELECT line, row_number() OVER () AS n FROM lines) WHERE ${own ? 'true' : 'n % 5 > 1'}`;
        const whole: Uint8Array[] = [];
        const oneByOne: Uint8Array[] = [];
        const result = await connection.stream(of);
        for (let chunk = await result.fetchChunk(); chunk && chunk.rowCount > 0; chunk = await result.fetchChunk()) {
          whole.push(...blobsOf(chunk));
          for (const row of chunk.getRows()) oneByOne.push((row[0] as { bytes: Uint8Array }).bytes);
        }
        expect(Buffer.concat(whole).equals(Buffer.concat(oneByOne))).toBe(true);
        if (own) expect(Buffer.concat(whole).toString()).toBe(rows.map(own).join(''));
      },
    ),
    { numRuns: 20 },
  );
});
