import { readdirSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../../src/core/clock.ts';
import { runScan } from '../../../src/erasure/scan/run-scan.ts';
import { openDatabase, openDatabaseReadOnly, type Database } from '../../../src/mirror/database.ts';
import { purgeDeleted, type PurgeSteps } from '../../../src/mirror/purge.ts';
import { openTestMirror } from '../../mirror/open-test-mirror.ts';
import { addPeople, personOf, placesOf, removePeople, orderedSubjectOf } from './canary.ts';

// The mirror stays open here while it is scanned, as in the program: that takes the scanner's own process.

const people = Array.from({ length: 300 }, (_, index) =>
  personOf(index % 6 === 0 ? `c${index}canarybird` : `other${index}`, 100 + index),
);
const canaries = people.filter((_person, index) => index % 6 === 0);
/** Some of them: what is left of the others has enough in common with them. */
const subjects = canaries.slice(-10).map(orderedSubjectOf);
const everyStep: PurgeSteps = { statistics: true, overwrite: true, truncate: true };

/**
 * A mirror where rows have grown and shrunk, so that pages were split and refilled: values of rows that are long elsewhere
 * stay behind in the gaps of live pages, `secure_delete` or not. It knows its statistics.
 */
function churnedMirror(): { db: Database; dataDir: string } {
  const { db, dataDir } = openTestMirror();
  addPeople(db, people);
  const change = db.prepare('UPDATE persons SET properties = ?, extra = ? WHERE uuid = ?');
  let random = 12_345;
  const below = (bound: number): number => {
    random = (Math.imul(random, 1_103_515_245) + 12_345) & 0x7f_ff_ff_ff;
    return (random >> 8) % bound;
  };
  db.transaction(() => {
    for (let changes = 0; changes < 300; changes += 1) {
      const { row, distinctIds } = people[below(people.length)] ?? personOf('nobody', 1);
      const properties = { email: distinctIds[0], pad: 'x'.repeat(below(1200)) };
      change.run(JSON.stringify(properties), distinctIds[0], row['uuid']);
    }
  })();
  db.exec('ANALYZE');
  return { db, dataDir };
}

async function hitsAfter(
  steps: PurgeSteps,
  isLarge: boolean,
): Promise<{ before: string[][]; after: string[][]; unreadable: unknown[] }> {
  const { db, dataDir } = churnedMirror();
  const signal = AbortSignal.timeout(50_000);
  const task = { dataDir, subjects, fence: false, extraPaths: [] };
  const before = await runScan({ ...task, phase: 'control' }, { signal });
  removePeople(db, canaries);
  expect(await purgeDeleted(db, systemClock, signal, { steps, isLarge })).toBe(true);
  const after = await runScan({ ...task, phase: 'verify' }, { signal });
  const placesOfAll = (report: typeof after) => subjects.map((_subject, index) => placesOf(report, index));
  return { before: placesOfAll(before), after: placesOfAll(after), unreadable: after.unreadable };
}

test.each([
  ['a small', false],
  ['a large', true],
])('everybody is found in the bytes of %s churned mirror, and nobody once it is purged', async (_size, isLarge) => {
  const { before, after, unreadable } = await hitsAfter(everyStep, isLarge);
  // A write-ahead log that was never copied back holds it all.
  for (const places of before) expect(places.some((place) => place.startsWith('raw utf-8 mirror.db'))).toBe(true);
  expect(after.flat()).toEqual([]);
  expect(unreadable).toEqual([]);
});

test.each<[keyof PurgeSteps, boolean, string]>([
  ['statistics', false, 'raw utf-8 mirror.db'],
  ['statistics', true, 'raw utf-8 mirror.db'],
  ['overwrite', false, 'raw utf-8 mirror.db'],
  ['truncate', false, 'raw utf-8 mirror.db-wal'],
])('a purge without its step %s (large: %s) leaves somebody, and is found out', async (step, isLarge, place) => {
  const { after } = await hitsAfter({ ...everyStep, [step]: false }, isLarge);
  expect(after.flat()).toContain(place);
});

test('what another connection remembers of a large mirror does not come back by its next change', async () => {
  const { db, dataDir } = churnedMirror();
  const bytes = (): Buffer => readFileSync(join(dataDir, 'mirror.db'));
  removePeople(db, canaries);
  db.pragma('wal_checkpoint(TRUNCATE)');
  expect(bytes().includes('canarybird')).toBe(true);
  const other = openDatabase(dataDir, systemClock);
  onTestFinished(() => void other.close());
  other.prepare('SELECT count(*) FROM persons WHERE properties LIKE ?').get('%x%');
  expect(await purgeDeleted(db, systemClock, AbortSignal.timeout(50_000), { isLarge: true })).toBe(true);
  for (const each of [other, db]) each.prepare(`UPDATE persons SET name = 'changed'`).run();
  db.pragma('wal_checkpoint(TRUNCATE)');
  expect(bytes().includes('canarybird')).toBe(false);
});

test('a large mirror is purged only once no other process reads what was deleted', async () => {
  const { db, dataDir } = churnedMirror();
  removePeople(db, canaries);
  const other = openDatabaseReadOnly(dataDir);
  const waits = { ...systemClock, sleep: () => Promise.resolve() };
  const signal = AbortSignal.timeout(50_000);
  other.exec('BEGIN; SELECT uuid FROM persons');
  expect(await purgeDeleted(db, waits, signal, { isLarge: true })).toBe(false);
  other.close();
  expect(await purgeDeleted(db, waits, signal, { isLarge: true })).toBe(true);
});

test('the copy that a purge of a small mirror makes is in the data folder, and gone at once', async () => {
  const { db, dataDir } = openTestMirror();
  // More than SQLite keeps in memory.
  db.exec(`CREATE TABLE ballast AS WITH RECURSIVE row(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row LIMIT 40000)
    SELECT randomblob(1000) FROM row`);
  openTestMirror();
  const folder = join(dataDir, 'tmp');
  const seen: unknown[] = [];
  const watcher = watch(folder, (_event, name) => seen.push(name));
  await purgeDeleted(db, systemClock, AbortSignal.timeout(50_000), { isLarge: false });
  // The copy has no name of its own.
  await vi.waitFor(() => expect(seen).not.toEqual([]));
  watcher.close();
  expect(readdirSync(folder)).toEqual([]);
});
