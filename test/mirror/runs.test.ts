import { expect, it } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { claimMirror, type MirroredProject } from '../../src/mirror/runs.ts';
import { openTestMirror } from './open-test-mirror.ts';

const mine: MirroredProject = { origin: 'https://old.example', projectId: '1' };
const moved = { ...mine, origin: 'https://new.example' };
const other = { ...mine, projectId: '2' };

/** A mirror that was synced with `mine`, and how often it was changed. */
function setUp(hasHeldRow: boolean) {
  const { db } = openTestMirror();
  claimMirror(db, mine, null);
  if (hasHeldRow)
    db.exec(`INSERT INTO changes (dataset, key, op, at) VALUES ('persons', 'a', 'upsert', '2026-01-01T00:00:00Z')`);
  const owner = (): unknown => db.prepare(`SELECT origin, project_id AS projectId FROM mirrored_project`).get();
  return { db, owner };
}

it('lets the same project in again', () => {
  const { db, owner } = setUp(true);
  claimMirror(db, mine, null);
  claimMirror(db, mine, 'https://older.example');
  expect(owner()).toEqual(mine);
});

it.each([
  ['another project', other, null],
  ['another address', moved, null],
  ['an address that is not the one it moved from', moved, 'https://older.example'],
  ['another project at the address it moved to', { ...moved, projectId: '2' }, mine.origin],
])('refuses %s, and says which is which', (_what, project, movedFrom) => {
  const { db, owner } = setUp(true);
  const refusal = (): unknown => {
    try {
      return claimMirror(db, project, movedFrom);
    } catch (error) {
      return error instanceof AppError ? { code: error.code, message: error.message } : error;
    }
  };
  expect(refusal()).toEqual({
    code: 'usage',
    message: `the data folder mirrors project 1 of https://old.example, not project ${project.projectId} of ${project.origin}`,
  });
  expect(owner()).toEqual(mine);
});

it('lets in a service that has moved, as long as it is told from where', () => {
  const { db, owner } = setUp(true);
  claimMirror(db, moved, mine.origin);
  expect(owner()).toEqual(mine);
  expect(() => claimMirror(db, moved, null)).toThrow(/mirrors project 1 of https:\/\/old.example/);
});

it('belongs to nobody before it has held a row: a first address may be mistyped', () => {
  const { db, owner } = setUp(false);
  claimMirror(db, other, null);
  expect(owner()).toEqual(other);
});
