import { expect, test } from 'vitest';
import { checkExtensions, checkInclusions } from './merkle-proofs.ts';

test('each leaf of all trees of up to 200 leaves is proved to be where it is, and only there', () => {
  expect(checkInclusions(200)).toBe(20_100);
});

test('each tree of up to 200 leaves is proved to extend each smaller one, and nothing else', () => {
  expect(checkExtensions(200)).toBe(20_301);
});
