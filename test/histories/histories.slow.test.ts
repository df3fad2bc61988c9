import { expect, test } from 'vitest';
import { playSample } from './sample.ts';

test.each([1, 2, 3, 4])('in a hundred histories, README’s promises hold (%i)', async (seed) => {
  const tally = await playSample(100, seed * 1000);
  expect(Object.values(tally).every((times) => times > 0)).toBe(true);
});
