import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { nobody } from '../../src/contract/identity.ts';
import { beforeOpenRequests, compactChanges, hasChange, newestChange, newestNumber } from '../../src/mirror/feeds.ts';
import type { Database } from '../../src/mirror/database.ts';
import { expireDeletionFeed } from '../../src/mirror/feeds.ts';
import { insertRequest } from '../../src/mirror/erasure-requests.ts';
import { prepareEraseRows, prepareRemoveRow, type DeletionReason } from '../../src/mirror/remove-rows.ts';
import { openTestMirror } from './open-test-mirror.ts';

const dayOf = (day: number): string => `2026-01-${String(day).padStart(2, '0')}T00:00:00.000Z`;

/** What a reader who has read up to a change is told of the rows since: each row's last change. */
function toldSince(db: Database, seq: number): Map<string, string> {
  const rows = db
    .prepare<[number], [string, string, string]>(`SELECT dataset, key, op FROM changes WHERE seq > ? ORDER BY seq`)
    .raw()
    .all(seq);
  return new Map(rows.map(([dataset, key, op]) => [`${dataset} ${key}`, op]));
}

const change = fc.record({
  dataset: fc.constantFrom('persons', 'recordings'),
  key: fc.constantFrom('a', 'b', 'c'),
  op: fc.constantFrom('upsert', 'upsert', 'upsert', 'delete'),
});

test('whoever reads on from anywhere is told the same of a compacted feed, and what is young stays', () => {
  const { db } = openTestMirror();
  const append = db.prepare(`INSERT INTO changes (dataset, key, op, at) VALUES (@dataset, @key, @op, @at)`);
  fc.assert(
    fc.property(fc.array(change, { maxLength: 20 }), fc.integer({ min: 1, max: 21 }), (changes, before) => {
      db.exec(`DELETE FROM changes; DELETE FROM sqlite_sequence`);
      for (const [index, one] of changes.entries()) append.run({ ...one, at: dayOf(index + 1) });
      const cursors = Array.from({ length: changes.length + 1 }, (_, seq) => seq);
      const young = (): unknown[] => db.prepare(`SELECT * FROM changes WHERE at >= ?`).all(dayOf(before));
      const [told, stays, newest] = [cursors.map((seq) => toldSince(db, seq)), young(), newestChange(db)];
      compactChanges(db, dayOf(before));
      expect(cursors.map((seq) => toldSince(db, seq))).toEqual(told);
      expect(young()).toEqual(stays);
      expect(newestChange(db)).toEqual(newest);
      const old = db
        .prepare<[string], string>(`SELECT dataset || key FROM changes WHERE at < ? AND op = 'upsert'`)
        .pluck()
        .all(dayOf(before));
      expect(old).toHaveLength(new Set(old).size);
      expect(compactChanges(db, dayOf(before))).toBe(0);
    }),
  );
});

test('a place in the feed is told from another of the same number', () => {
  const { db } = openTestMirror();
  expect(newestChange(db)).toBeNull();
  db.exec(`INSERT INTO changes (dataset, key, op, at) VALUES ('persons', 'a', 'upsert', '${dayOf(3)}')`);
  expect(newestChange(db)).toEqual({ seq: 1, at: dayOf(3) });
  expect(hasChange(db, { seq: 1, at: dayOf(3) })).toBe(true);
  expect(hasChange(db, { seq: 1, at: dayOf(4) })).toBe(false);
  expect(hasChange(db, { seq: 2, at: dayOf(3) })).toBe(false);
});

test.each(['changes', 'deletions'])('a number of %s is never given twice', (feed) => {
  const { db } = openTestMirror();
  const [columns, values] =
    feed === 'changes'
      ? ['dataset, key, op, at', `'persons', 'a', 'upsert', 't'`]
      : ['dataset, key, reason, deleted_at', `'persons', 'a', 'merged', 't'`];
  const append = (): number =>
    Number(db.prepare(`INSERT INTO ${feed} (${columns}) VALUES (${values})`).run().lastInsertRowid);
  const first = append();
  db.exec(`DELETE FROM ${feed}`);
  expect(append()).toBeGreaterThan(first);
});

test('an expired deletion takes what the feed tells of its row, unless the row is there again', () => {
  const { db } = openTestMirror();
  db.exec(`INSERT INTO persons (uuid, first_seen_pass, changed_at) VALUES ('back', 1, '${dayOf(3)}')`);
  const append = (feed: string, row: string): unknown =>
    db.exec(`INSERT INTO ${feed} VALUES (NULL, 'persons', ${row}${feed === 'deletions' ? ', NULL' : ''})`);
  for (const key of ['back', 'gone']) {
    append('changes', `'${key}', 'upsert', '${dayOf(1)}'`);
    append('changes', `'${key}', 'delete', '${dayOf(2)}'`);
    append('deletions', `'${key}', '${key}', 'merged', '${dayOf(2)}', NULL, 1`);
  }
  append('changes', `'back', 'upsert', '${dayOf(3)}'`);
  expect(expireDeletionFeed(db, { before: dayOf(9), through: Infinity })).toBe(2);
  expect(toldSince(db, 0)).toEqual(new Map([['persons back', 'upsert']]));
  expect(db.prepare(`SELECT count(*) FROM deletions`).pluck().get()).toBe(0);
});

test('deletions stay from the first of a request on that is open, or whose certificate says that they are listed', () => {
  const { db } = openTestMirror();
  const about = { isAccess: false, origin: 'manual', basis: 'objection', deleteEvents: true, dueAt: dayOf(9) } as const;
  const more = { receivedAt: dayOf(1), generation: 1, authorisedBy: null, box: null } as const;
  for (const id of ['open', 'listed']) insertRequest(db, { ...about, ...more, id });
  db.exec(`UPDATE erasure_requests SET sealed_at = '${dayOf(2)}', state = 'sealed', listed_until = '${dayOf(8)}' WHERE id = 'listed';
    INSERT INTO deletions (seq, dataset, key, reason, deleted_at, request_id) VALUES
      (3, 'persons', 'a', 'erased', '${dayOf(1)}', 'listed'), (5, 'persons', 'b', 'erased', '${dayOf(1)}', 'open')`);
  expect(beforeOpenRequests(db, dayOf(7))).toBe(2);
  expect(beforeOpenRequests(db, dayOf(8))).toBe(4);
  db.exec(`UPDATE erasure_requests SET state = 'sealed'`);
  expect(beforeOpenRequests(db, dayOf(8))).toBe(Infinity);
});

test('a deletion that expires costs a look at its own key, however many have not expired', () => {
  const { db } = openTestMirror();
  db.exec(`INSERT INTO deletions (dataset, key, reason, deleted_at) WITH RECURSIVE row(n) AS
    (SELECT 1 UNION ALL SELECT n + 1 FROM row LIMIT 40000) SELECT 'recordings', 'r' || n, 'expired', '${dayOf(1)}' FROM row`);
  // By keys, and not by reading all for each: hundreds of millions of looks take longer than any test may.
  expect(expireDeletionFeed(db, { before: dayOf(9), through: Infinity })).toBe(40_000);
});

test('an erasure is told of all that its subject ever was here, under new numbers, and of nobody else', () => {
  const { db } = openTestMirror();
  const at = dayOf(1);
  const add = db.prepare(`INSERT INTO persons (uuid, first_seen_pass, changed_at) VALUES (?, 1, '')`);
  const remove = prepareRemoveRow(db, 'persons');
  const leave = (uuid: string, ...[reason, ground]: [DeletionReason, { mergedInto: string }?]): void =>
    remove(Number(add.run(uuid).lastInsertRowid), reason, at, ground);
  leave('a', 'merged', { mergedInto: 'b' });
  leave('b', 'merged', { mergedInto: 'c' });
  for (const other of ['other', 'c', 'split']) leave('elsewhere', 'merged', { mergedInto: other });
  leave('split', 'merged', { mergedInto: 'c' });
  leave('away', 'deleted');
  for (const living of ['split', 'c']) add.run(living);
  db.exec(`INSERT INTO recordings (id, person_uuid, first_seen_pass, changed_at) VALUES ('r', 'a', 1, '')`);
  prepareRemoveRow(db, 'recordings')(1, 'expired', at);
  const before = newestNumber(db);
  const identity = { ...nobody, person_uuid: ['away', 'c', 'never here'], recording_id: ['r2'] };
  db.transaction(() => expect(prepareEraseRows(db)('q', identity, at)).toBe(1))();
  const told = `SELECT dataset, key, person_uuid, reason FROM deletions WHERE request_id = 'q' AND seq > ? ORDER BY 1, 2`;
  expect(db.prepare<[number]>(told).raw().all(before)).toEqual([
    ['persons', 'a', 'a', 'erased'],
    ['persons', 'away', 'away', 'deleted'],
    ['persons', 'b', 'b', 'erased'],
    ['persons', 'c', 'c', 'erased'],
    ['persons', 'never here', 'never here', 'erased'],
    ['recordings', 'r', 'a', 'erased'],
    ['recordings', 'r2', null, 'erased'],
  ]);
  expect(db.prepare(`SELECT count(*) FROM deletions WHERE key IN ('a', 'b', 'r')`).pluck().get()).toBe(3);
});

test.each([
  ['the person who holds its distinct id', '', 'ann'],
  ['nobody, where another person shows that id too', "INSERT INTO distinct_ids_lost VALUES (2, 'd1', 1)", null],
  ['that person, where another held the id once', "INSERT INTO distinct_ids_lost VALUES (2, 'd1', NULL)", 'ann'],
  ['nobody, where nobody holds that id', 'DELETE FROM distinct_id_owners', null],
])('a recording that shows no person leaves as one of %s; an erasure tells of it again', (_whose, change, person) => {
  const { db } = openTestMirror();
  db.exec(`INSERT INTO persons (row_key, uuid, first_seen_pass, changed_at) VALUES (1, 'ann', 1, ''), (2, 'bob', 1, '');
    INSERT INTO distinct_id_owners VALUES (1, 'd1');
    INSERT INTO recordings (row_key, id, distinct_id, person_uuid, first_seen_pass, changed_at)
      VALUES (1, 'r1', 'd1', NULL, 1, ''), (2, 'r2', 'd1', 'bob', 1, '');
    ${change}`);
  for (const rowKey of [1, 2]) prepareRemoveRow(db, 'recordings')(rowKey, 'expired', dayOf(1));
  const told = (): unknown => db.prepare(`SELECT key, person_uuid, request_id FROM deletions ORDER BY key`).raw().all();
  expect(told()).toEqual([
    ['r1', person, null],
    ['r2', 'bob', null],
  ]);
  db.transaction(() => prepareEraseRows(db)('q', { ...nobody, person_uuid: ['ann'] }, dayOf(2)))();
  expect(told()).toContainEqual(['r1', person, person && 'q']);
});
