import { afterAll, beforeAll, expect, it } from 'vitest';
import { firstSync, openCrashWorkspace } from './commands-to-kill.ts';
import { assertSurvives, referenceOf, type Reference } from './killed-command.ts';
import { killPoint, type KillPoint } from '../kill/kill-point.ts';
import { everyNth } from '../nth.ts';
import type { Workspace } from './workspace.ts';

let workspace: Workspace;
let reference: Reference;
beforeAll(async () => {
  workspace = await openCrashWorkspace();
  // One page at a time, so that one is all that a kill may lose.
  reference = await referenceOf(firstSync(workspace, 1));
});
afterAll(() => workspace[Symbol.asyncDispose]());

/** In the order in which a first sync passes them. */
const moments: Record<string, [moment: KillPoint['moment'], pattern: RegExp, nth?: number]> = {
  'with an empty file': ['before', /^PRAGMA journal_mode = WAL/],
  'within the migration of a new file': ['before', /^INSERT INTO schema_migrations/],
  'with the migration made': ['after', /^COMMIT after INSERT INTO schema_migrations/],
  'before it holds the lease': ['before', /^COMMIT after INSERT OR REPLACE INTO lease /],
  'holding the lease': ['after', /^COMMIT after INSERT OR REPLACE INTO lease /],
  'before it has noted the run': ['before', /^COMMIT after INSERT INTO runs/],
  'with the run noted': ['after', /^COMMIT after INSERT INTO runs/],
  'with the pass begun': ['after', /^COMMIT after INSERT INTO passes/],
  'before the first pass leaves out an index': ['before', /^DROP INDEX persons/],
  'with the indexes left out': ['after', /^COMMIT after DROP INDEX distinct_id_owners/],
  'before it sends a request': ['after', /^COMMIT after INSERT INTO request_times/],
  'with the answer come': ['before', /^UPDATE request_times SET is_under_way = 0/],
  'between answer and transaction': ['after', /^UPDATE request_times SET is_under_way = 0/],
  'before the first row of a page': ['before', /^INSERT INTO persons \(/],
  'in the middle of a page': ['before', /^INSERT INTO persons \(/, 25],
  'before a distinct id is owned': ['before', /^INSERT INTO distinct_id_owners/, 30],
  'before the last row of a page': ['before', /^INSERT INTO persons \(/, 50],
  'before a change is told': ['before', /^INSERT INTO changes/, 2],
  'before the rows are marked as seen': ['before', /^INSERT INTO persons_seen/],
  'before the cursor is saved': ['before', /^UPDATE passes SET windows/],
  'before a page is committed': ['before', /^COMMIT after UPDATE passes SET windows/],
  'with a page committed': ['after', /^COMMIT after UPDATE passes SET windows/],
  'between last page and verdict': ['before', /^UPDATE passes SET verdict = @verdict/],
  'before absent rows are nominated': ['before', /^INSERT OR IGNORE INTO suspects .* FROM persons/],
  'with the pass ended': ['after', /^COMMIT after INSERT OR IGNORE INTO suspects .* FROM persons/],
  'before the run has ended': ['before', /^UPDATE runs SET outcome = @outcome/],
  'before the lease is given back': ['before', /^DELETE FROM lease/],
  'with the lease given back': ['after', /^DELETE FROM lease/],
};

/** What only a run does that makes the whole of the first pass: one that takes it up makes the indexes at its beginning. */
const momentsOfFirstPass: typeof moments = {
  'before the indexes are made': ['before', /^CREATE UNIQUE INDEX IF NOT EXISTS persons/],
  'with one index made': ['before', /^CREATE UNIQUE INDEX IF NOT EXISTS distinct_id_owners/],
};

function pointOf(name: string): KillPoint {
  const [moment, pattern, nth] = moments[name] ?? momentsOfFirstPass[name] ?? ['before', /^$/];
  return killPoint(reference.executions, moment, pattern, nth);
}

it.each([
  'within the migration of a new file',
  'in the middle of a page',
  'with a page committed',
  'between last page and verdict',
  ...Object.keys(momentsOfFirstPass),
])('a sync that dies %s is taken up as if nothing had been', async (name) => {
  await assertSurvives(reference, [pointOf(name)]);
});

it('a sync that does not die where it should fails its test', async () => {
  const never = { ...pointOf('with a page committed'), nth: 1000 };
  await expect(assertSurvives(reference, [never])).rejects.toThrow('not killed after #1000 COMMIT');
});

it('a sync may die at every point, one time after the other', async () => {
  await assertSurvives(reference, everyNth(Object.keys(moments)).map(pointOf));
});
