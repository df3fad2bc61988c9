import { afterAll, expect, test } from 'vitest';
import { checkHistories, type Tally } from './check-histories.ts';

const worlds = [...Array.from({ length: 25 }, (_, index) => index + 1), 101, 102];
const tallies: Tally[] = [];
const sumOf = (name: keyof Tally): number => tallies.reduce((sum, tally) => sum + tally[name], 0);

afterAll(() => {
  process.stdout.write(
    `${tallies.length} worlds, ${sumOf('histories')} histories, ${sumOf('lookedUp')} identifiers looked up, ` +
      `${sumOf('erased')} persons erased, ${sumOf('rowsKept')} rows of others compared\n`,
  );
});

test.each(worlds)('each person is found and erased by all that any kept row shows, and no other (%i)', async (seed) => {
  const tally = await checkHistories(seed, 40);
  tallies.push(tally);
  const { lookedUp, erased, rowsKept, rowsGone, wordsGone } = tally;
  expect(Math.min(lookedUp, erased, rowsKept, rowsGone, wordsGone)).toBeGreaterThan(0);
});

test('these were a thousand histories', () => {
  expect(sumOf('histories')).toBeGreaterThan(1000);
});
