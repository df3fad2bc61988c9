import { expect, test } from 'vitest';
import { preparePageCommit } from '../mirror/commit-page.ts';
import { finishPass, noEvidence, startPass, type IncompleteReason } from '../../src/mirror/passes.ts';
import { reportPass } from '../../src/sync/pass-report.ts';
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
  [100, null, true],
  [1_000_000, 'count_not_reached', false],
  [null, null, null],
  [1_000_000, 'head', null],
  [1_000_000, 'no_progress', null],
] as const)('of a service that counts %s rows, a pass that ended for %s says %s', (count, reason, said) => {
  expect(countReached(count, reason)).toBe(said);
});
