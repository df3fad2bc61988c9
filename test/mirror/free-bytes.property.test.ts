import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { zeroFreeBytes } from '../../src/mirror/free-bytes.ts';
import { freshFolder } from './open-test-mirror.ts';

type Change = { key: number; bytes: number | null };

const changes = fc.array(
  fc.record({
    key: fc.integer({ min: 0, max: 60 }),
    // Null removes the row.
    bytes: fc.option(fc.oneof(fc.nat(60), fc.nat(600), fc.nat(9000)), { freq: 3 }),
  }),
  { minLength: 50, maxLength: 200 },
);

/** A text whose every 16 bytes tell which change wrote it. */
const textOf = (number: number, bytes: number): string =>
  `<${String(number).padStart(6, '0')}/text>..`.repeat(Math.ceil(bytes / 16) + 1);
const tables = ['row', 'pair', 'counted'];

/** A file in which rows came, grew, shrank and went, and nothing overwrote what they left. Returns the numbers of the texts that stay. */
function churn(path: string, pageBytes: number, all: readonly Change[]): Set<number> {
  const db = new Sqlite(path);
  db.pragma(`page_size = ${pageBytes}`);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = OFF');
  db.pragma('secure_delete = OFF');
  db.exec(`CREATE TABLE row (key INTEGER PRIMARY KEY, text TEXT); CREATE INDEX row_by_text ON row (text);
    CREATE TABLE pair (key TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID;
    CREATE TABLE counted (key INTEGER UNIQUE, text BLOB); CREATE TABLE emptied (text TEXT)`);
  const stays = new Map<number, number>();
  for (const [number, { key, bytes }] of all.entries()) {
    const text = bytes === null ? null : textOf(number, bytes);
    // Keys below zero are nine bytes long.
    const keyOf = (table: string): unknown => (table === 'pair' ? `key ${key}` : key - 5);
    for (const table of tables)
      if (text === null) db.prepare(`DELETE FROM ${table} WHERE key = ?`).run(keyOf(table));
      else
        db.prepare(
          `INSERT INTO ${table} (key, text) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET text = excluded.text`,
        ).run(keyOf(table), text);
    if (text !== null) db.prepare('INSERT INTO emptied VALUES (?)').run(textOf(number + all.length, 100));
    if (bytes === null) stays.delete(key);
    else stays.set(key, number);
  }
  db.exec('DELETE FROM emptied');
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  return new Set(stays.values());
}

function withRoots<T>(path: string, act: (roots: number[], db: Sqlite.Database) => T): T {
  const db = new Sqlite(path, { readonly: true });
  try {
    return act(db.prepare<[], number>('SELECT rootpage FROM sqlite_schema WHERE rootpage > 0').pluck().all(), db);
  } finally {
    db.close();
  }
}

const contentOf = (path: string): unknown =>
  withRoots(path, (_roots, db) => [
    db.pragma('integrity_check'),
    ...tables.map((table) => db.prepare(`SELECT * FROM ${table} ORDER BY key`).all()),
  ]);

const textsIn = (path: string): Set<number> =>
  new Set(
    [
      ...readFileSync(path)
        .toString('latin1')
        .matchAll(/<(\d{6})\/text>/g),
    ].map(([, number]) => Number(number)),
  );

test.each([512, 1024, 4096, 65_536])(
  'of all that was ever written, only what stands in a row is left in the bytes: pages of %d bytes',
  (pageBytes) => {
    const path = join(freshFolder(), 'file.db');
    fc.assert(
      fc.property(changes, (all) => {
        for (const suffix of ['', '-wal', '-shm']) writeFileSync(path + suffix, '');
        const stays = churn(path, pageBytes, all);
        const before = contentOf(path);
        // Otherwise nothing is shown.
        expect(textsIn(path).size).toBeGreaterThan(stays.size);
        const roots = withRoots(path, (found) => found);
        expect(zeroFreeBytes(path, roots)).toBeGreaterThan(0);
        expect(textsIn(path)).toEqual(stays);
        expect(contentOf(path)).toEqual(before);
        expect(zeroFreeBytes(path, roots)).toBe(0);
      }),
      { numRuns: 15 },
    );
  },
);

test('a file in which a page is used twice, or by nothing, is left as it is', () => {
  const path = join(freshFolder(), 'file.db');
  const many = Array.from({ length: 80 }, (_none, key): Change => ({ key, bytes: key % 3 === 0 ? 5000 : 50 }));
  churn(path, 1024, [...many, { key: 3, bytes: null }]);
  const roots = withRoots(path, (found) => found);
  const before = readFileSync(path);
  const [first = 0] = roots;
  expect(() => zeroFreeBytes(path, [...roots, first])).toThrow(/page \d+ is used twice/);
  expect(() => zeroFreeBytes(path, roots.slice(1))).toThrow(/pages belong to nothing/);
  expect(() => zeroFreeBytes(path, [...roots, 100_000])).toThrow(/is none/);
  expect(readFileSync(path).equals(before)).toBe(true);
  writeFileSync(path, before.subarray(0, -1024));
  expect(() => zeroFreeBytes(path, roots)).toThrow(/is not whole/);
});
