import { expect, test } from 'vitest';
import { bitFlips, checkDamages, cuts, moves } from './damage.ts';

test('a bit turned round anywhere is found: each 97th of them', () => {
  expect(checkDamages(bitFlips, 97)).toBeGreaterThan(300);
});

test('an entry removed, moved, repeated or spelled otherwise is found: each 29th of them', () => {
  expect(checkDamages(moves, 29)).toBeGreaterThan(200);
});

test('entries cut off are found: each 11th of the places', () => {
  expect(checkDamages(cuts, 11)).toBeGreaterThan(200);
});
