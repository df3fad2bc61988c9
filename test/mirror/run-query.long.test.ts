import { closeSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { expect, it } from 'vitest';
import { checkStructure, overwriteApart, runQuery, type QueryLimits } from '../../src/mirror/run-query.ts';
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
  // The process can vacuum, but not for a user.
  ['VACUUM', { code: 'usage' }],
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

/** A mirror of 60 MB, most of which was deleted. */
function largeMirror() {
  const { db, dataDir } = openTestMirror();
  const fill =
    db.prepare(`INSERT INTO quarantine (dataset, row_id, reason, payload, first_seen_pass, last_seen_pass, seen_at)
    VALUES ('persons', ?, 'too deep', ?, 1, 1, '2026')`);
  db.transaction(() => {
    for (let n = 0; n < 600; n += 1) fill.run(`row ${n}`, `"text of row ${n} ${'x'.repeat(100_000)}"`);
  })();
  db.pragma('secure_delete = OFF');
  db.prepare(`DELETE FROM quarantine WHERE row_id <> 'row 7'`).run();
  db.pragma('wal_checkpoint(TRUNCATE)');
  return { db, path: `${dataDir}/mirror.db` };
}

it('a large mirror is checked and overwritten by another process, while this one does other work', async () => {
  const { db, path } = largeMirror();
  const { signal } = new AbortController();
  const before = statSync(path).size;
  expect(readFileSync(path).includes('text of row 8')).toBe(true);
  let turns = 0;
  const timer = setInterval(() => void (turns += 1), 5);
  expect(await checkStructure(db, signal)).toBe('ok');
  expect(await overwriteApart(db, signal)).toBe(true);
  clearInterval(timer);
  expect(turns).toBeGreaterThan(20);
  db.pragma('wal_checkpoint(TRUNCATE)');
  expect(statSync(path).size).toBe(before);
  expect(db.prepare(`SELECT row_id FROM quarantine`).pluck().all()).toEqual(['row 7']);
  expect(readFileSync(path).includes('text of row 8')).toBe(false);
});

it('damage in a large mirror is found by the other process too, and an abort ends it', async () => {
  const { db, path } = largeMirror();
  const { signal } = new AbortController();
  await expect(overwriteApart(db, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  const root = db.prepare(`SELECT rootpage FROM sqlite_schema WHERE name = 'persons'`).pluck().get() as number;
  db.close();
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(4096, 0xff), 0, 4096, (root - 1) * 4096);
  closeSync(file);
  const again = openTestMirror(path.slice(0, -'/mirror.db'.length)).db;
  expect(await checkStructure(again, signal).catch((error: unknown) => (error as Error).message)).not.toBe('ok');
});
