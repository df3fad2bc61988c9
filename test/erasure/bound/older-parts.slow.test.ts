import { describe, expect, test } from 'vitest';
import { choices, playOlderParts, story } from './older-parts-model.ts';

describe.each(story.slice(1).map((_step, index) => index))('a copy from after step %i', (copied) => {
  const later = story.map((_step, index) => index).filter((index) => index > copied);
  test.each(later.flatMap((until) => choices.map((parts) => ({ until, parts }))))(
    'of which $parts are put back after step $until: nobody erased is back without a word',
    async ({ until, parts }) => {
      const end = await playOlderParts(copied, until, parts);
      if (!parts.includes('ledger') && !parts.includes('keys')) expect(end).toBe('mended');
      else expect(['refused', 'mended', 'not to be told']).toContain(end);
    },
    120_000,
  );
});
