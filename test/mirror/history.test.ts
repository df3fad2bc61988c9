import { expect, test } from 'vitest';
import type { Database } from '../../src/mirror/database.ts';
import { readHistory } from '../../src/mirror/history.ts';
import { finishPass, startPass } from '../../src/mirror/passes.ts';
import { openTestMirror } from './open-test-mirror.ts';

const nowMs = Date.UTC(2026, 10, 22, 12);
const dayOf = (daysAgo: number): string => new Date(nowMs - daysAgo * 86_400_000).toISOString();

/** A pass of that day after which the list has so many rows. */
function pass(db: Database, daysAgo: number, rows: number): void {
  const id = startPass(db, { dataset: 'playlists', mode: 'full', plan: '{}', at: dayOf(daysAgo) });
  db.prepare(`DELETE FROM playlists`).run();
  const insert = db.prepare(`INSERT INTO playlists (short_id, first_seen_pass, changed_at) VALUES (?, ?, '')`);
  for (let row = 0; row < rows; row += 1) insert.run(`p${row}`, id);
  db.prepare(`UPDATE passes SET rows_added = ?, rows_changed = 2 WHERE id = ?`).run(rows, id);
  finishPass(db, id, null, dayOf(daysAgo));
}

test('tells the rows after the last pass of each day, and adds up what was new, changed and gone', () => {
  const { db } = openTestMirror();
  pass(db, 5, 3);
  pass(db, 2, 4);
  pass(db, 2, 7);
  const gone = db.prepare(
    `INSERT INTO deletions (dataset, key, reason, deleted_at) VALUES ('persons', ?, 'deleted', ?)`,
  );
  for (const key of ['a', 'b', 'c']) gone.run(key, dayOf(1));
  db.prepare(`DELETE FROM deletions`).run();
  const { days, series } = readHistory(db, nowMs);
  expect(days).toHaveLength(14);
  expect([days[0], days.at(-1)]).toEqual(['2026-11-09', '2026-11-22']);
  expect(series.playlists.slice(-7)).toEqual([null, 3, 3, 3, 7, 7, 7]);
  expect(series.persons.every((value) => value === null)).toBe(true);
  expect(series.new.slice(-7)).toEqual([0, 3, 0, 0, 11, 0, 0]);
  expect(series.changed.slice(-7)).toEqual([0, 2, 0, 0, 4, 0, 0]);
  // The feed of deletions expires, and the history stays.
  expect(series.gone.slice(-3)).toEqual([0, 3, 0]);
});

test('counts a request when it is received and each time that it is complete', () => {
  const { db } = openTestMirror();
  const insert = db.prepare(`INSERT INTO erasure_requests (id, origin, basis, delete_events, state, received_at, due_at)
    VALUES (?, 'manual', 'gdpr-17', 0, 'received', ?, ?)`);
  for (const id of ['one', 'two']) insert.run(id, dayOf(3), dayOf(-27));
  const certify = db.prepare(`UPDATE erasure_requests SET certified_at = ? WHERE id = 'one'`);
  certify.run(dayOf(1));
  certify.run(dayOf(0));
  db.prepare(`UPDATE erasure_requests SET state = 'sealed', certified_at = certified_at`).run();
  const { series } = readHistory(db, nowMs);
  expect(series.received.slice(-4)).toEqual([2, 0, 0, 0]);
  expect(series.complete.slice(-4)).toEqual([0, 0, 1, 0]);
});

test('is short before the first pass', () => {
  expect(readHistory(openTestMirror().db, nowMs).days).toHaveLength(14);
});

test('is bounded, however long a mirror is kept', () => {
  const { db } = openTestMirror();
  for (const daysAgo of [400, 200, 89, 0]) pass(db, daysAgo, 1);
  expect(readHistory(db, nowMs).days).toHaveLength(90);
  expect(db.prepare(`SELECT count(DISTINCT day) FROM history`).pluck().get()).toBe(2);
});
