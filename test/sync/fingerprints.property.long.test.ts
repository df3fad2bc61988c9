import fc from 'fast-check';
import { expect, it } from 'vitest';
import { lives, pass } from './fingerprint-lives.ts';
import { history, playHistory, type Played } from './fingerprint-world.ts';

it.each(lives)('is as if every row were read: %s', async (_name, steps) => {
  for (const dataset of ['persons', 'recordings'] as const) {
    const each = [pass(), pass(), ...steps, pass({ mode: 'head' })];
    expect((await playHistory({ dataset, size: 20, steps: each })).rowsKnown).toBeGreaterThan(0);
  }
});

it('a mirror that knows rows by their bytes is the one that parses every row, over random histories', async () => {
  const all: Played = { rowsKnown: 0, rowsRead: 0, passes: 0 };
  await fc.assert(
    fc.asyncProperty(history, async (each) => {
      const played = await playHistory(each);
      for (const key of Object.keys(all) as (keyof Played)[]) all[key] += played[key];
    }),
    { numRuns: 60, seed: 7, endOnFailure: true },
  );
  expect(all.rowsKnown).toBeGreaterThan(all.rowsRead / 4);
});
