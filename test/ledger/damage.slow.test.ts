import { expect, test } from 'vitest';
import { bitFlips, checkDamages, cuts, moves } from './damage.ts';

test('each bit turned round is found', async () => {
  expect(await checkDamages(bitFlips, 1)).toBeGreaterThan(30_000);
});

test('each entry removed, moved, repeated or spelled otherwise is found', async () => {
  expect(await checkDamages(moves, 1)).toBeGreaterThan(6000);
});

test('entries cut off anywhere are found', async () => {
  expect(await checkDamages(cuts, 1)).toBeGreaterThan(3000);
});
