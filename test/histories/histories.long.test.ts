import { expect, test } from 'vitest';
import { known, ruled } from './known.ts';
import { play } from './play.ts';
import { newTally } from './promises.ts';
import { playSample } from './sample.ts';

test('in more histories too, README’s promises hold', async () => {
  const tally = await playSample(20, 1);
  expect(Object.values(tally).every((times) => times > 0)).toBe(true);
}, 300_000);

test.each(Object.entries({ ...known, ...ruled }))('%s: a promise was broken, and holds', async (_what, moves) => {
  const tally = newTally();
  await play(false, moves, tally);
  expect(tally).toMatchObject({ histories: 1, moves: moves.length });
});
