import { join } from 'node:path';
import { expect, test } from 'vitest';
import { missingAnchors, reachOf, type Anchor } from '../../src/anchor/anchors.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { lifeOf, tickingClock } from '../ledger/ledger-fixture.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

test('an anchor is missed although the clock was ahead when the first entry that it lacks was appended', () => {
  const dataDir = temporaryFolder();
  const ledger = openLedger(dataDir, tickingClock());
  const [first = [], ...life] = lifeOf(1, 1);
  ledger.append(first, '2031-01-01T00:00:00.000Z');
  ledger.append(life.flat(), '2026-11-20T12:00:00.000Z');
  ledger.checkpoint();
  const away: Anchor = {
    name: 'witness.example.com',
    isAskedAgain: true,
    isAnchored: () => false,
    ask: () => Promise.resolve({ result: 'away', says: '' }),
  };
  const sentences = (now: string): string[] =>
    missingAnchors(reachOf(join(dataDir, 'ledger'), [away]), Date.parse(now));
  expect(sentences('2026-11-21T12:00:00.000Z')).toEqual([]);
  expect(sentences('2026-11-23T12:00:00.000Z')).toEqual([
    'witness.example.com has never anchored the ledger; the next entry has waited since 2026-11-20T12:00Z',
  ]);
});
