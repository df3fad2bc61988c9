import { readFileSync, statSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { databasePath, openDatabase, openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { datasets, mirroredDatasets } from '../../src/contract/datasets.ts';
import { freshFolder, openTestMirror, stillClock } from './open-test-mirror.ts';

it.each(mirroredDatasets)('has a column for every field of the contract: %s', (table) => {
  const { db } = openTestMirror();
  const names = db.prepare<[string], string>(`SELECT name FROM pragma_table_info(?)`).pluck().all(table);
  // A new field of the contract needs a numbered migration that adds its column.
  expect(names).toEqual(expect.arrayContaining(datasets[table].fields.map(({ name }) => name)));
});

it('makes every table STRICT', () => {
  const { db } = openTestMirror();
  const loose = db
    .prepare(
      `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%'`,
    )
    .all();
  expect(loose).toEqual([]);
});

it('is durable and forgets what is deleted', () => {
  const { db } = openTestMirror();
  const pragma = (name: string): unknown => db.pragma(name, { simple: true });
  expect([pragma('journal_mode'), pragma('synchronous'), pragma('secure_delete')]).toEqual(['wal', 2, 1]);
});

it('lets no view or trigger of its file call our functions, nor a statement change its schema', () => {
  const { db, dataDir } = openTestMirror();
  db.exec(`CREATE VIEW planted AS SELECT fence_mac('distinct_id', 'a') AS mac`);
  for (const each of [db, openDatabaseReadOnly(dataDir)]) {
    expect(each.pragma('trusted_schema', { simple: true })).toBe(0);
    expect(() => each.prepare(`SELECT mac FROM planted`).all()).toThrow(/unsafe use of fence_mac/);
    each.pragma('writable_schema = ON');
    expect(() => each.exec(`UPDATE sqlite_schema SET sql = '' WHERE name = 'planted'`)).toThrow(
      /may not be modified|readonly/,
    );
  }
});

it('is readable by its owner only', () => {
  const { dataDir } = openTestMirror(`${freshFolder()}/data`);
  expect((statSync(dataDir).mode & 0o777).toString(8)).toBe('700');
  expect((statSync(databasePath(dataDir)).mode & 0o777).toString(8)).toBe('600');
});

it('opens again what it made', () => {
  const { dataDir, db } = openTestMirror();
  db.exec(
    `INSERT INTO passes (dataset, mode, plan, started_at) VALUES ('persons', 'full', '{}', '2026-01-01T00:00:00Z')`,
  );
  const again = openDatabase(dataDir, stillClock);
  expect(again.prepare(`SELECT count(*) AS passes FROM passes`).get()).toEqual({ passes: 1 });
  again.close();
});

it('refuses a mirror that a newer program made', () => {
  const { dataDir, db } = openTestMirror();
  db.exec(`INSERT INTO schema_migrations VALUES (9999, '9999-later.sql', 'x', '2026-01-01T00:00:00Z')`);
  expect(() => openDatabase(dataDir, stillClock)).toThrow(/newer version/);
});

it('refuses a mirror whose migrations were another build’s', () => {
  const { dataDir, db } = openTestMirror();
  db.exec(`UPDATE schema_migrations SET digest = 'other'`);
  expect(() => openDatabase(dataDir, stillClock)).toThrow(/another build/);
});

it('refuses a database of another program and leaves it as it is', () => {
  const dataDir = freshFolder();
  const foreign = new Sqlite(databasePath(dataDir));
  foreign.exec(`CREATE TABLE theirs (x)`);
  foreign.close();
  expect(() => openDatabase(dataDir, stillClock)).toThrow(/another program/);
  const path = databasePath(dataDir);
  const kept = new Sqlite(path, { readonly: true });
  expect(kept.prepare(`SELECT name FROM sqlite_schema`).pluck().all()).toEqual(['theirs']);
  kept.close();
  expect(readFileSync(path).subarray(0, 15).toString()).toBe('SQLite format 3');
});
