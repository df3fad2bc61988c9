import { expect, test } from 'vitest';
import { bitFlips, checkDamages, cuts, moves } from './damage.ts';

test('each bit turned round is found', () => {
  expect(checkDamages(bitFlips, 1)).toBeGreaterThan(30_000);
});

test('each entry removed, moved, repeated or spelled otherwise is found', () => {
  expect(checkDamages(moves, 1)).toBeGreaterThan(6000);
});

test('entries cut off anywhere are found', () => {
  expect(checkDamages(cuts, 1)).toBeGreaterThan(3000);
});
