import fc from 'fast-check';
import { expect, test } from 'vitest';
import { playStory, stories, type Tally } from './erasure-model.ts';

test('whatever happens, erased people are gone, others are as they were, and every request ends', async () => {
  const tally: Tally = { verified: 0, killed: 0, replayed: 0, held: 0, sealed: 0, refusedRestored: 0 };
  await fc.assert(
    fc.asyncProperty(fc.nat(1_000_000), stories(Number(process.env['LEN'] ?? 14)), (seed, steps) =>
      playStory(seed, steps, tally),
    ),
    {
      numRuns: Number(process.env['RUNS'] ?? 12),
      seed: Number(process.env['SEED'] ?? 2026),
      ...(process.env['FPATH'] ? { path: process.env['FPATH'] } : {}),
      endOnFailure: process.env['SHRINK'] === undefined,
    },
  );
  console.log(tally);
  expect(tally.verified).toBeGreaterThan(5);
}, 600_000);
