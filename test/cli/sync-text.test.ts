import { expect, test } from 'vitest';
import { passTable } from '../../src/cli/sync-text.ts';
import type { PassReport } from '../../src/sync/pass-report.ts';

const pass: PassReport = {
  id: 1,
  dataset: 'persons',
  mode: 'full',
  verdict: 'complete',
  reason: null,
  startedAt: '2026-01-01T00:00:00.000Z',
  finishedAt: '2026-01-01T00:01:00.000Z',
  windows: 1021,
  seams: 1020,
  stepBacks: 2,
  restarts: 0,
  rounds: 1,
  rowsReceived: 1_020_400,
  rowsDistinct: 1_000_000,
  rowsAdded: 10,
  rowsChanged: 20,
  rowsFenced: 0,
  rowsCameAfter: 0,
  rowsTrimmed: 0,
  rowsQuarantined: 3,
  countReported: null,
  untold: [],
  assumptions: { newestFirst: true, countReached: null, defaultWindow: false, keptMoment: null },
};

test('a pass is a line with its verdict and the reason against it', () => {
  const unfinished: PassReport = { ...pass, mode: 'head', verdict: 'running', finishedAt: null };
  const incomplete: PassReport = { ...pass, verdict: 'incomplete', reason: 'seam_not_joined' };
  const cells = passTable([pass, incomplete, unfinished])
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
  expect(cells).toEqual([
    ['pass', 'verdict', 'received', 'new', 'changed', 'in quarantine', 'pages', 'steps back', 'ended'],
    ['persons full', 'complete', '1,020,400', '10', '20', '3', '1,021', '2', '2026-01-01 00:01:00 UTC'],
    [
      'persons full',
      'incomplete (seam not joined)',
      '1,020,400',
      '10',
      '20',
      '3',
      '1,021',
      '2',
      '2026-01-01 00:01:00 UTC',
    ],
    ['persons head', 'running', '1,020,400', '10', '20', '3', '1,021', '2', 'running'],
  ]);
});

test('a list that ended far before the count of the service says how many rows were seen', () => {
  const table = passTable([{ ...pass, verdict: 'incomplete', reason: 'count_not_reached', countReported: 2_000_000 }]);
  expect(table).toContain('incomplete (1,000,000 of 2,000,000 rows seen)');
});

test('a head pass that came to known rows is done', () => {
  expect(passTable([{ ...pass, mode: 'head', verdict: 'incomplete', reason: 'head' }])).toMatch(
    /^persons head +done  /m,
  );
});
