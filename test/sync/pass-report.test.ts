import { expect, test } from 'vitest';
import { preparePageCommit } from '../mirror/commit-page.ts';
import { finishPass, noEvidence, startPass, type IncompleteReason } from '../../src/mirror/passes.ts';
import { reportPass } from '../../src/sync/pass-report.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';

const at = '2026-01-01T00:00:00.000Z';

/** Whether a pass that received so many rows is said to have reached the service's count. */
function countReached(
  rows: number,
  countReported: number | null,
  { rounds = 1, reason = null }: { rounds?: number; reason?: IncompleteReason | null } = {},
): boolean | null {
  const { db } = openTestMirror();
  const passId = startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at });
  const quarantined = Array.from({ length: rows }, (_row, index) => ({
    key: null,
    reason: 'unreadable',
    payload: `${index}`,
  }));
  const evidence = { ...noEvidence, countReported, rounds };
  preparePageCommit(db, 'persons', passId)({ rows: [], quarantined, at }, evidence);
  return reportPass(finishPass(db, passId, reason, at)).assumptions.countReached;
}

test('a list that ends far before the count of the service is told of, and one that ends about there is not', () => {
  expect(countReached(1, 1_000_000)).toBe(false);
  expect(countReached(94, 100)).toBe(false);
  expect(countReached(95, 100)).toBe(true);
  expect(countReached(0, 5)).toBe(true);
  expect(countReached(120, 100)).toBe(true);
});

test('a list that was walked in rounds is held against the count once', () => {
  expect(countReached(180, 100, { rounds: 2 })).toBe(false);
  expect(countReached(200, 100, { rounds: 2 })).toBe(true);
});

test('nothing is said where the service gives no count, or the pass is not complete', () => {
  expect(countReached(1, null)).toBeNull();
  expect(countReached(1, 1_000_000, { reason: 'head' })).toBeNull();
});
