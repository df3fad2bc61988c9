import { expect, test } from 'vitest';
import { openLedger } from '../../src/ledger/ledger.ts';
import { readHistories } from '../../src/ledger/histories.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { lifeOf, tickingClock } from './ledger-fixture.ts';

test('an open ledger keeps the histories that a reading of its entries gives, at opening and at every append', () => {
  const dataDir = temporaryFolder();
  const clock = tickingClock();
  const ledger = openLedger(dataDir, clock);
  for (const records of [...lifeOf(1, 1), ...lifeOf(2, 2)]) {
    ledger.append(records);
    const read = [...readHistories(ledger.entries()).all()];
    expect([...ledger.histories.all()]).toEqual(read);
    expect([...openLedger(dataDir, clock).histories.all()]).toEqual(read);
  }
});
