import { expect, test } from 'vitest';
import { checkKills } from './kill.ts';

test('killed before any change of the disk, and again, nothing promised is lost, and the ledger goes on', async () => {
  expect(await checkKills(1)).toBeGreaterThan(80);
});
