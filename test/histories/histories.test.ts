import fc from 'fast-check';
import { expect, test } from 'vitest';
import { histories } from './moves.ts';
import { play } from './play.ts';
import { newTally } from './promises.ts';

// A few, always the same, for the fast set. `search.ts` plays as many as wanted.
test('whatever happens, README’s promises hold', async () => {
  const tally = newTally();
  const property = fc.asyncProperty(fc.boolean(), histories, (isLive, moves) => play(isLive, moves, tally));
  await fc.assert(property, { numRuns: 6, seed: 5, endOnFailure: true });
  expect(Math.min(tally.killed, tally.erased, tally.loaded, tally.withoutLights)).toBeGreaterThan(0);
}, 120_000);
