import { expect, test } from 'vitest';
import { playStories } from './erasure-model.ts';

test('whatever happens, erased people are gone, others are as they were, and every request ends', async () => {
  const tally = await playStories({ numRuns: 12, chaptersMax: 6, seed: 3 });
  // What never happened was not tried.
  expect(Object.values(tally).every((times) => times > 0)).toBe(true);
});
