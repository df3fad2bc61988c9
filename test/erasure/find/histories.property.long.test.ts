import { expect, test } from 'vitest';
import { checkHistories } from './check-histories.ts';

// One small world. The slow set plays a thousand histories.
test.each([121])('each person is found and erased by all that any kept row shows, and no other (%i)', async (seed) => {
  const tally = await checkHistories(seed, 10);
  const { lookedUp, erased, rowsKept, rowsGone, wordsGone } = tally;
  expect(Math.min(lookedUp, erased, rowsKept, rowsGone, wordsGone)).toBeGreaterThan(0);
});
