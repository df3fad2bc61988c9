import { expect, it } from 'vitest';
import { runQuery, type QueryLimits } from '../../src/mirror/run-query.ts';
import { freeBytesAt } from '../../src/core/folder.ts';
import { openTestMirror } from './open-test-mirror.ts';

const endless = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n';
/** Sorts without an end, which writes temporary files. */
const sorting = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000)
  SELECT hex(randomblob(500)) AS text FROM n ORDER BY text`;

function run(sql: string, changed: Partial<QueryLimits> = {}) {
  const { dataDir } = openTestMirror();
  const signal = new AbortController().signal;
  return runQuery(
    { dataDir, sql, rowsMax: 3 },
    { secondsMax: 60, temporaryBytesMax: 1e9, diskFreeBytesMin: 0, signal, ...changed },
  );
}

it('answers as it does in this process, integers and bytes included', async () => {
  expect(await run(`SELECT 1, 9007199254740993, 'ü', x'00ff', NULL, 0.5`)).toEqual({
    columns: ['1', '9007199254740993', "'ü'", "x'00ff'", 'NULL', '0.5'],
    rows: [[1, 9007199254740993n, 'ü', Buffer.from([0, 255]), null, 0.5]],
    isCut: false,
  });
});

it.each([
  ['SELEKT', { code: 'usage', message: expect.stringContaining('syntax error') as string }],
  ['DELETE FROM runs', { code: 'usage' }],
  [`SELECT fence_mac('distinct_id', 'ann')`, { message: expect.stringContaining('no such function') as string }],
])('rejects %s as it does in this process', async (sql, error) => {
  await expect(run(sql)).rejects.toMatchObject(error);
});

it('ends a statement that runs too long, with one sentence', async () => {
  await expect(run(endless, { secondsMax: 1 })).rejects.toMatchObject({
    code: 'usage',
    message: 'the query was ended: it ran longer than 1 second',
  });
});

it.runIf(process.platform === 'linux')('ends a statement that writes too much, and leaves nothing', async () => {
  const free = freeBytesAt('/tmp');
  for (const limits of [{ temporaryBytesMax: 20_000_000 }, { diskFreeBytesMin: free * 2 }])
    await expect(run(sorting, limits)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(
        /^the query was ended: it wrote more than [\d.]+ MB of temporary files$/,
      ) as string,
    });
});

it('ends with the reason of a signal', async () => {
  const stop = new AbortController();
  const running = run(endless, { signal: stop.signal });
  setTimeout(() => stop.abort(new Error('stopped')), 500);
  await expect(running).rejects.toThrow('stopped');
});

it('cuts a result of more than 64 MiB', async () => {
  const { rows, isCut } = await run(`SELECT hex(zeroblob(20000000)) FROM (VALUES (1), (2), (3))`);
  expect({ rows: rows.length, isCut }).toEqual({ rows: 1, isCut: true });
});
