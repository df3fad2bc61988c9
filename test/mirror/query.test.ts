import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { databasePath, openDatabaseReadOnly } from '../../src/mirror/database.ts';
import { fenceIdentifiers } from '../../src/mirror/fence.ts';
import { queryMirror } from '../../src/mirror/query.ts';
import { openTestMirror } from './open-test-mirror.ts';

const readThings = `SELECT reason FROM quarantine`;

/** An existing mirror with a thousand rows, and its file. */
function setUp() {
  const { db, dataDir } = openTestMirror();
  db.exec(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000)
    INSERT INTO quarantine (dataset, row_id, reason, payload, first_seen_pass, last_seen_pass, seen_at)
    SELECT 'persons', n, 'reason ' || n, '{}', 1, 1, '2026-01-01T00:00:00Z' FROM numbers`);
  db.close();
  return { dataDir, path: databasePath(dataDir) };
}

/** The code of what a query throws: one of ours, or SQLite's. */
function codeOf(dataDir: string, sql: string): unknown {
  const db = openDatabaseReadOnly(dataDir);
  try {
    return queryMirror(db, sql, 9999).rows.length;
  } catch (error) {
    return error instanceof AppError ? error.code : Reflect.get(Object(error), 'code');
  } finally {
    db.close();
  }
}

it.each([
  ['a statement that is no SQL', 'SELEKT 1'],
  ['two statements', 'SELECT 1; SELECT 2'],
  ['a statement that returns nothing', 'DELETE FROM quarantine'],
  ['a statement that would write', 'DELETE FROM quarantine RETURNING row_id'],
])('takes %s for a mistake of whoever asked', (_what, sql) => {
  const { dataDir } = setUp();
  expect(codeOf(dataDir, sql)).toBe('usage');
  expect(codeOf(dataDir, readThings)).toBe(1000);
});

it('holds no guess of a user against the fence', () => {
  const { db, dataDir } = openTestMirror();
  fenceIdentifiers(db, { id: 'r', epoch: 1, at: '2026-01-01T00:00:00.000Z' }, [{ kind: 'distinct_id', value: 'ann' }]);
  db.close();
  const reader = openDatabaseReadOnly(dataDir, 'user');
  const ask = (sql: string) => queryMirror(reader, sql, 9).rows;
  expect(ask(`SELECT kind FROM fence`)).toEqual([['distinct_id']]);
  expect(() => ask(`SELECT 1 FROM fence WHERE mac = fence_mac('distinct_id', 'ann')`)).toThrow(
    'no such function: fence_mac',
  );
  reader.close();
});

it('does not take a damaged file for one', () => {
  const { dataDir, path } = setUp();
  const bytes = readFileSync(path);
  // Every page that holds rows of the table, and none that holds the schema.
  for (let at = bytes.indexOf('reason 500'); at !== -1; at = bytes.indexOf('reason 500', at + 1))
    bytes.fill(0xff, at - (at % 4096), at - (at % 4096) + 4096);
  writeFileSync(path, bytes);
  expect(codeOf(dataDir, readThings)).toMatch(/^SQLITE_CORRUPT/);
});
