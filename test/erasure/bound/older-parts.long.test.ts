import { expect, test } from 'vitest';
import { choices, playOlderParts } from './older-parts-model.ts';
import { reuseDuckDb } from '../../snapshot/one-duckdb.ts';

reuseDuckDb();

// One choice of four. The slow set takes all, at each step of the story.
test.each(choices.filter((_parts, index) => index % 4 === 1).map((parts) => ({ parts })))(
  'older $parts, put back after two erasures: nobody erased is back without a word',
  async ({ parts }) => {
    const canBeMended = !parts.includes('ledger') && !parts.includes('keys');
    const end = await playOlderParts(1, 4, parts);
    if (canBeMended) expect(end).toBe('mended');
    else expect(['refused', 'not to be told']).toContain(end);
  },
  120_000,
);

test('a mirror from before the end of both requests: they come to their end again, as soon as the events had their time', async () => {
  expect(await playOlderParts(4, 5, ['database'])).toBe('mended');
}, 60_000);
