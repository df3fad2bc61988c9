import { expect, test } from 'vitest';
import { checkKills } from './kill.ts';

test('killed before each thirteenth change of the disk, and again, nothing promised is lost, and the ledger goes on', async () => {
  expect(await checkKills(13)).toBeGreaterThan(5);
});
