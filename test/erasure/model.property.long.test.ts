import { expect, test } from 'vitest';
import { playSequences } from './erasure-model.ts';

test('whatever happens, erased people are gone, others are as they were, and every request ends', async () => {
  const { verified, killed, replayed, sealed } = await playSequences({ numRuns: 8, chaptersMax: 6, seed: 1 });
  // What never happened was not tried.
  expect(Math.min(verified, killed, replayed, sealed)).toBeGreaterThan(0);
}, 180_000);
