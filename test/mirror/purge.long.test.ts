import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import type { Database } from '../../src/mirror/database.ts';
import { changeRequest, insertRequest } from '../../src/mirror/erasure-requests.ts';
import { addBoxPart, readBox, readBoxPart } from '../../src/mirror/request-box.ts';
import { markPurgeOwed, purgeOwed } from '../../src/mirror/purge.ts';
import { openTestMirror } from './open-test-mirror.ts';

const { signal } = new AbortController();
const requests = Array.from({ length: 360 }, (_, index) => ({ id: `request ${index}`, isEnded: index % 2 === 0 }));

/** Bytes that stand nowhere else, a word of 16 over and over. */
const boxOf = (id: string, round: number, bytes: number): Buffer =>
  Buffer.alloc(bytes, `<${id.slice(8).padStart(6, '0')}/${round}/box>`.padEnd(16, '.'));
const isOf = (bytes: Buffer, id: string): boolean => bytes.includes(`<${id.slice(8).padStart(6, '0')}/`);

/** A mirror whose requests' boxes have grown and shrunk, so that pages were split; those of half of the requests are gone. */
function churnedRequests(): { db: Database; bytes: () => Buffer } {
  const { db } = openTestMirror();
  const at = '2026-01-01T00:00:00.000Z';
  // Nothing is killed here.
  db.pragma('synchronous = OFF');
  for (const { id } of requests)
    insertRequest(db, {
      id,
      generation: 1,
      isAccess: false,
      origin: 'manual',
      basis: 'objection',
      authorisedBy: 'T-1',
      deleteEvents: false,
      receivedAt: at,
      dueAt: at,
      box: boxOf(id, 0, 40),
    });
  let random = 54_321;
  const below = (bound: number): number => {
    random = (Math.imul(random, 1_103_515_245) + 12_345) & 0x7f_ff_ff_ff;
    return (random >> 8) % bound;
  };
  for (let round = 1; round < 40; round += 1)
    for (const { id } of requests) changeRequest(db, id, { box: boxOf(id, round, 16 + below(1500)) });
  for (const { id } of requests) addBoxPart(db, id, 0, boxOf(id, 9, 16 + below(300)));
  db.transaction(() => {
    for (const { id, isEnded } of requests) if (isEnded) changeRequest(db, id, { box: null });
  })();
  const files = [db.name, `${db.name}-wal`];
  return { db, bytes: () => Buffer.concat(files.filter((path) => existsSync(path)).map((path) => readFileSync(path))) };
}

const leftIn = (bytes: Buffer): string[] =>
  requests.flatMap(({ id, isEnded }) => (isEnded && isOf(bytes, id) ? [id] : []));

test('the boxes of ended requests leave every byte of the mirror', async () => {
  const { db, bytes } = churnedRequests();
  db.pragma('wal_checkpoint(TRUNCATE)');
  // Without a purge they are in the gaps of pages, `secure_delete` or not.
  expect(leftIn(bytes())).not.toEqual([]);
  expect(await purgeOwed(db, systemClock, signal)).toBe(true);
  expect(leftIn(bytes())).toEqual([]);
  expect(readBox(db, 'request 1')).toBeDefined();
  expect(readBoxPart(db, 'request 1', 0)).toBeDefined();
});

test('the file is written anew only where something is owed', async () => {
  const { db } = churnedRequests();
  const free = (): unknown => db.pragma('freelist_count', { simple: true });
  const leaveFreePages = (): void =>
    void db.exec(`CREATE TABLE ballast AS WITH RECURSIVE row(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row LIMIT 400)
    SELECT randomblob(1000) FROM row; DROP TABLE ballast`);
  expect(await purgeOwed(db, systemClock, signal)).toBe(true);
  leaveFreePages();
  expect(await purgeOwed(db, systemClock, signal)).toBe(true);
  expect(free()).toBeGreaterThan(100);
  markPurgeOwed(db);
  expect(await purgeOwed(db, systemClock, signal)).toBe(true);
  expect(free()).toBe(0);
});

test('a purge of requests is owed until no reader holds the old pages', async () => {
  const { db, bytes } = churnedRequests();
  const other = new (Object.getPrototypeOf(db) as { constructor: new (path: string) => Database }).constructor(db.name);
  other.exec('BEGIN; SELECT * FROM erasure_requests');
  const waits = { ...systemClock, sleep: () => Promise.resolve() };
  expect(await purgeOwed(db, waits, signal)).toBe(false);
  other.close();
  expect(await purgeOwed(db, waits, signal)).toBe(true);
  expect(leftIn(bytes())).toEqual([]);
});

test('a large mirror that another tool has set to auto_vacuum is written anew', async () => {
  const { db } = openTestMirror();
  db.pragma('synchronous = OFF');
  db.pragma('secure_delete = OFF');
  db.pragma('auto_vacuum = INCREMENTAL');
  db.exec(`VACUUM; CREATE TABLE large (value); INSERT INTO large VALUES (randomblob(36000000));
    CREATE TABLE gone (value); INSERT INTO gone VALUES ('canary of somebody'), ('another'); DELETE FROM gone;`);
  expect(db.pragma('auto_vacuum', { simple: true })).toBe(2);
  db.pragma('wal_checkpoint(TRUNCATE)');
  markPurgeOwed(db);
  expect(await purgeOwed(db, systemClock, signal)).toBe(true);
  expect(readFileSync(db.name).includes('canary of somebody')).toBe(false);
});
