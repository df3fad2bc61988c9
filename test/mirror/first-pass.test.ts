import { expect, it } from 'vitest';
import { acquireLease } from '../job/take-lease.ts';
import type { Database } from '../../src/mirror/database.ts';
import { beginFirstPass, makeMissingIndexes } from '../../src/mirror/first-pass.ts';
import { openTestMirror, stillClock } from './open-test-mirror.ts';

const names = ['distinct_id_owners_by_distinct_id', 'persons_by_uuid', 'recordings_by_id'];
const schema = `SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql LIKE '%UNIQUE%' ORDER BY name`;

function indexes(db: Database): string[] {
  const sql = `SELECT name FROM sqlite_schema WHERE type = 'index' AND name IN (SELECT value FROM json_each(?)) ORDER BY name`;
  return db.prepare<[string], string>(sql).pluck().all(JSON.stringify(names));
}

function addPerson(db: Database, uuid: string, id: string): void {
  db.prepare(`INSERT INTO persons (uuid, first_seen_pass, changed_at) VALUES (?, 1, '')`).run(uuid);
  db.prepare(`INSERT INTO distinct_id_owners VALUES ((SELECT max(row_key) FROM persons), ?)`).run(id);
}

it('does without the indexes on random texts until it ends, and then has them as they were', () => {
  const { db } = openTestMirror();
  const before = db.prepare(schema).all();
  const first = beginFirstPass(db, 'persons', { isFull: true });
  expect(indexes(db)).toEqual(['recordings_by_id']);
  addPerson(db, 'a', 'id a');
  first.note('a', 1);
  first.noteOwner('id a', 1);
  const asked = (): unknown[] => [
    first.findRowKey('a'),
    first.findRowKey('b'),
    first.ownerOf('id a'),
    first.ownerOf('id b'),
  ];
  expect(asked()).toEqual([1, undefined, 1, undefined]);
  db.transaction(() => first.end())();
  expect(db.prepare(schema).all()).toEqual(before);
  expect(asked()).toEqual([1, undefined, 1, undefined]);
});

it.each<[string, (db: Database) => void, boolean]>([
  ['a head pass', () => undefined, false],
  ['a mirror that has a person', (db) => addPerson(db, 'a', 'id a'), true],
])('keeps the indexes in %s', (_name, fill, isFull) => {
  const { db } = openTestMirror();
  fill(db);
  beginFirstPass(db, 'persons', { isFull });
  expect(indexes(db)).toEqual(names);
});

it.each<[string, (db: Database) => unknown]>([
  ['the next pass, which is no first one', (db) => void beginFirstPass(db, 'persons', { isFull: true })],
  ['a pass over another list', (db) => void beginFirstPass(db, 'recordings', { isFull: false })],
  ['whatever takes the lease', (db) => acquireLease(db, 'erase', stillClock)],
])('what a kill has left out is made by %s', async (_name, open) => {
  const { db } = openTestMirror();
  beginFirstPass(db, 'persons', { isFull: true });
  addPerson(db, 'a', 'id a');
  await open(db);
  expect(indexes(db)).toEqual(names);
  expect(() => addPerson(db, 'a', 'id b')).toThrow(/UNIQUE/);
  expect(() => addPerson(db, 'b', 'id a')).toThrow(/UNIQUE/);
});

it('makes nothing where nothing is missing', () => {
  const { db } = openTestMirror();
  const version = db.pragma('schema_version', { simple: true });
  makeMissingIndexes(db);
  expect(db.pragma('schema_version', { simple: true })).toBe(version);
});
