import { expect, test } from 'vitest';
import { playSequences } from './erasure-model.ts';

test.each([1, 2, 3, 4])('in long sequences too, erased people are gone and others as they were (%i)', async (seed) => {
  const tally = await playSequences({ numRuns: 60, chaptersMax: 10, seed });
  expect(Object.values(tally).every((times) => times > 0)).toBe(true);
});
