import { expect, onTestFinished, test } from 'vitest';
import { passTable } from '../../src/cli/sync-text.ts';
import { runSyncJob } from '../../src/worker/sync-job.ts';
import { openSyncWorld } from './sync-world.ts';
import { preparePageCommit } from '../mirror/commit-page.ts';
import { finishPass, noEvidence, startPass, type IncompleteReason } from '../../src/mirror/passes.ts';
import { beginWalk, judgePage } from '../../src/sync/walk-plan.ts';
import { largeMomentOf, passRemarks, reportPass } from '../../src/sync/pass-report.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';

const at = '2026-01-01T00:00:00.000Z';

/** What is said of the count of a pass that ended for a reason. */
function countReached(countReported: number | null, reason: IncompleteReason | null): boolean | null {
  const { db } = openTestMirror();
  const passId = startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at });
  const evidence = { ...noEvidence, countReported, rowsDistinct: 95 };
  preparePageCommit(db, 'persons', passId)({ rows: [], quarantined: [], at }, evidence);
  const report = reportPass(finishPass(db, passId, reason, at));
  expect(report).toMatchObject({ rowsDistinct: 95, countReported });
  return report.assumptions.countReached;
}

test.each([
  [95, null, true],
  [100, null, false],
  [1_000_000, 'count_not_reached', false],
  [null, null, null],
  [1_000_000, 'head', null],
  [1_000_000, 'no_progress', null],
] as const)('of a service that counts %s rows, a pass that ended for %s says %s', (count, reason, said) => {
  expect(countReached(count, reason)).toBe(said);
});

test('an only page that shows one person twice, and counts both, proves nothing: it may hide another', () => {
  const { db } = openTestMirror();
  const plan = { pageSize: 100, widestRows: 1600, overlap: 10, windowsMax: 10, restartsMax: 3, roundsMax: 5 };
  const page = { keys: ['a', 'b', 'b'], times: [3n, 2n, 2n], received: 3, isLast: true, nextOffset: null, count: 3 };
  const step = judgePage(plan, beginWalk(plan), page, 2);
  expect(step).toMatchObject({ next: 'end', reason: 'count_not_reached' });
  const passId = startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at });
  preparePageCommit(db, 'persons', passId)({ rows: [], quarantined: [], at }, step.state.evidence);
  const [remark] = passRemarks([reportPass(finishPass(db, passId, 'count_not_reached', at))]);
  expect(remark?.detail).toContain(
    'counts 3 persons and shows 2 different ones: it hides some, or shows and counts one',
  );
});

test('no moment has more rows than the pass has seen', () => {
  const pass = { rowsDistinct: 9000, plan: JSON.stringify({ pageSize: 100 }) };
  expect(largeMomentOf({ ...pass, momentRows: 17_538 })).toEqual({ rows: 9000, pageSize: 800 });
  expect(largeMomentOf({ ...pass, momentRows: 8000 })).toEqual({ rows: 8000, pageSize: 700 });
  // A window holds so many at any page size: the service serves fewer at once.
  expect(largeMomentOf({ ...pass, momentRows: 1300 })).toEqual({ rows: 1300, pageSize: null });
});

test.each([
  ['live', {}, 'full', true],
  ['live', { date_from: '-60d' }, 'full', false],
  ['live', {}, 'head', false],
  ['documented', {}, 'full', false],
] as const)(
  'of a %s list that is asked for with %j, a %s pass says: default days only, %s',
  async (profile, query, mode, said) => {
    const world = await openSyncWorld({ persons: 5, recordings: 60, seed: 2, profile }, [
      { path: 'recordings.query', value: query },
    ]);
    onTestFinished(() => world.close());
    const { passes } = await runSyncJob(world.app.serviceContext(new AbortController().signal), {
      datasets: ['recordings'],
      mode,
      resume: true,
    });
    expect(passes).toMatchObject([{ assumptions: { defaultWindow: said } }]);
    expect(passTable(passes).includes('in the configuration, set `recordings.query: {date_from: -30d}`')).toBe(said);
  },
);

test('a list that shows every row has no default of days', async () => {
  const world = await openSyncWorld({ persons: 5, seed: 2 });
  onTestFinished(() => world.close());
  expect(reportPass(await world.sync()).assumptions.defaultWindow).toBe(false);
});
