import { expect, test } from 'vitest';
import { known, knownLive, ruled } from './known.ts';
import { play } from './play.ts';
import { newTally } from './promises.ts';
import { playSample } from './sample.ts';

test('in more histories too, README’s promises hold', async () => {
  const tally = await playSample(20, 1);
  expect(Object.values(tally).every((times) => times > 0)).toBe(true);
}, 300_000);

const all = [{ ...known, ...ruled }, knownLive].flatMap((some, isLive) =>
  Object.entries(some).map(([what, moves]) => ({ what, moves, isLive: isLive === 1 })),
);

test.each(all)('$what: a promise was broken, and holds', async ({ moves, isLive }) => {
  const tally = newTally();
  await play(isLive, moves, tally);
  expect(tally).toMatchObject({ histories: 1, moves: moves.length });
});
