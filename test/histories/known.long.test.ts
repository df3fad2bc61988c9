import { expect, test } from 'vitest';
import { known } from './known.ts';
import { play } from './play.ts';
import { newTally } from './promises.ts';

test.each(Object.entries(known))('%s; it does no more', async (_what, moves) => {
  const tally = newTally();
  await play(false, moves, tally);
  expect(tally).toMatchObject({ histories: 1, moves: moves.length });
});
