import { expect, test } from 'vitest';
import { playSequences } from './erasure-model.ts';

// A few runs, for the fast set. The long and the slow set have more of them, and longer ones.
test('whatever happens, erased people are gone, others are as they were, and every request ends', async () => {
  const { verified, killed } = await playSequences({ numRuns: 2, chaptersMax: 5, seed: 2 });
  expect(Math.min(verified, killed)).toBeGreaterThan(0);
}, 120_000);
