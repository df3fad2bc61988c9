import { readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/core/clock.ts';
import { runScan } from '../../../src/erasure/scan/run-scan.ts';
import type { Database } from '../../../src/mirror/database.ts';
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
const everyStep: PurgeSteps = { statistics: true, vacuum: true, truncate: true };

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

async function hitsAfter(steps: PurgeSteps): Promise<{ before: string[][]; after: string[][]; unreadable: unknown[] }> {
  const { db, dataDir } = churnedMirror();
  const signal = AbortSignal.timeout(50_000);
  const task = { dataDir, subjects, fence: false, extraPaths: [] };
  const before = await runScan({ ...task, phase: 'control' }, { signal });
  removePeople(db, canaries);
  expect(await purgeDeleted(db, systemClock, signal, steps)).toBe(true);
  const after = await runScan({ ...task, phase: 'verify' }, { signal });
  const placesOfAll = (report: typeof after) => subjects.map((_subject, index) => placesOf(report, index));
  return { before: placesOfAll(before), after: placesOfAll(after), unreadable: after.unreadable };
}

test('everybody is found in the bytes of a churned mirror, and nobody once it is purged', async () => {
  const { before, after, unreadable } = await hitsAfter(everyStep);
  // A write-ahead log that was never copied back holds it all.
  for (const places of before) expect(places.some((place) => place.startsWith('raw utf-8 mirror.db'))).toBe(true);
  expect(after.flat()).toEqual([]);
  expect(unreadable).toEqual([]);
});

test.each<[keyof PurgeSteps, string]>([
  ['statistics', 'raw utf-8 mirror.db'],
  ['vacuum', 'raw utf-8 mirror.db'],
  ['truncate', 'raw utf-8 mirror.db-wal'],
])('a purge without its step %s leaves somebody, and is found out', async (step, place) => {
  const { after } = await hitsAfter({ ...everyStep, [step]: false });
  expect(after.flat()).toContain(place);
});

test('the copy that a purge makes is in the data folder, and gone at once', async () => {
  const { db, dataDir } = openTestMirror();
  // More than SQLite keeps in memory.
  db.exec(`CREATE TABLE ballast AS WITH RECURSIVE row(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row LIMIT 40000)
    SELECT randomblob(1000) FROM row`);
  openTestMirror();
  const folder = join(dataDir, 'tmp');
  const seen: unknown[] = [];
  const watcher = watch(folder, (_event, name) => seen.push(name));
  await purgeDeleted(db, systemClock, AbortSignal.timeout(50_000));
  // The copy has no name of its own.
  await vi.waitFor(() => expect(seen).not.toEqual([]));
  watcher.close();
  expect(readdirSync(folder)).toEqual([]);
});
