import { test } from 'vitest';
import { known } from './known.ts';
import { play } from './play.ts';
import { newTally } from './promises.ts';

test.each(Object.entries(known))('%s; it does no more', async (_what, moves) => {
  await play(false, moves, newTally());
});
