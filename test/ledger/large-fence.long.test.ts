import { expect, test } from 'vitest';
import { openLedger, openLedgerPausing, readLedger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { turnsWhile } from '../core/turns.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { lifeOf, requestId, tickingClock } from './ledger-fixture.ts';

test('a large ledger is opened while other work goes on, and is the one that is opened at once', async () => {
  const dataDir = freshFolder();
  const fence = Array.from({ length: 60_000 }, (_, n) => ({
    kind: 'recording_id' as const,
    encrypted: n.toString(16).padStart(64, '0'),
  }));
  const fencing: LedgerRecord = { type: 'fencing', request: requestId(1), generation: 1, epoch: 1, fence };
  const [begun] = lifeOf(1, 1);
  openLedger(dataDir, tickingClock()).append([...(begun ?? []).slice(0, 1), fencing]);
  const signal = AbortSignal.timeout(60_000);
  let opened = openLedger(dataDir, tickingClock());
  const turns = await turnsWhile(async () => {
    opened = await openLedgerPausing(dataDir, tickingClock(), [], signal);
  });
  expect(turns).toBeGreaterThan(1);
  expect(opened.head()).toEqual(readLedger(dataDir).head());
  opened.append([{ type: 'fenced', request: requestId(1), generation: 1, epoch: 1 }]);
  expect(readLedger(dataDir).epoch()).toBe(1);
  const stopped = openLedgerPausing(dataDir, tickingClock(), [], AbortSignal.abort(new Error('no more')));
  await expect(stopped).rejects.toThrow('no more');
});
