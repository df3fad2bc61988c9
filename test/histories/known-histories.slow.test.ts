import { expect, test } from 'vitest';
import { known, knownLive, ruled } from './known.ts';
import { play } from './play.ts';
import { newTally } from './promises.ts';

const all = [{ ...known, ...ruled }, knownLive].flatMap((some, isLive) =>
  Object.entries(some).map(([what, moves]) => ({ what, moves, isLive: isLive === 1 })),
);

test.each(all)('$what: a promise was broken, and holds', async ({ moves, isLive }) => {
  const tally = newTally();
  await play({ isLive, crowd: 0, mask: 'none' }, moves, tally);
  expect(tally).toMatchObject({ histories: 1, moves: moves.length });
});
