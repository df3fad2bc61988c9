import { expect, it } from 'vitest';
import type { Run } from '../../src/mirror/runs.ts';
import { historyOf, noHistory } from '../../src/worker/job-history.ts';

/** Runs, newest first, told by how they ended: an outcome, or an outcome and a reason. */
function runs(...endings: string[]): Run[] {
  return endings.map((ending, index) => {
    const [outcome, reason] = ending.split(' ');
    const id = endings.length - index;
    const isOpen = outcome === 'running';
    return {
      id,
      job: 'full',
      started_at: `2026-01-${String(id).padStart(2, '0')}T00:00:00Z`,
      finished_at: isOpen ? null : `2026-01-${String(id).padStart(2, '0')}T01:00:00Z`,
      outcome: isOpen ? null : (outcome as Run['outcome']),
      reason: reason ?? null,
      requests: 0,
      counts: null,
    };
  });
}

it.each([
  [['done'], 0, 1],
  [['failed unreachable', 'done'], 1, 1],
  [['failed refused', 'interrupted died', 'failed service', 'done', 'failed service'], 3, 2],
  [['failed busy', 'interrupted interrupted', 'failed service', 'incomplete'], 1, 1],
  [['running', 'failed service'], 2, null],
  [['interrupted interrupted'], 0, null],
  [['held', 'failed service'], 0, 2],
])('%j: failures in a row %i, settled on day %s', (endings, failures, settledDay) => {
  const history = historyOf(runs(...endings), undefined);
  expect(history.failures).toBe(failures);
  expect(history.settledMs).toBe(settledDay === null ? null : Date.UTC(2026, 0, settledDay));
});

it.each([
  [['incomplete files_damaged', 'done'], 'files_damaged'],
  [['running', 'failed storage', 'incomplete files_damaged'], 'files_damaged'],
  [['done', 'incomplete files_damaged'], null],
  [['failed storage'], null],
])('%j: the last run that did all it could found %s', (endings, reason) => {
  expect(historyOf(runs(...endings), undefined).settledReason).toBe(reason);
});

it('an errored run never counts as the last success', () => {
  const [failed, done] = runs('failed unreachable', 'done');
  expect(historyOf(failed && done ? [failed, done] : [], done)).toMatchObject({
    lastOutcome: 'failed',
    lastReason: 'unreachable',
    lastStartMs: Date.UTC(2026, 0, 2),
    successMs: Date.UTC(2026, 0, 1),
  });
});

it('nothing is known before the first run', () => {
  expect(historyOf([], undefined)).toBe(noHistory);
});
