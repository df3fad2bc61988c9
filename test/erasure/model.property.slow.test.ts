import { expect, test } from 'vitest';
import { playStories } from './erasure-model.ts';

test.each([1, 2, 3, 4])(
  'in long stories too, erased people are gone and others as they were (%i)',
  async (seed) => {
    const tally = await playStories({ numRuns: 60, chaptersMax: 10, seed });
    expect(Object.values(tally).every((times) => times > 0)).toBe(true);
  },
);
