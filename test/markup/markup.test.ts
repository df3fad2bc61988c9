import { expect, test } from 'vitest';
import { axisEnd } from '../../src/markup/markup.ts';

test.each([
  [2, 1, 2],
  [2, 2, 2],
  [2, 3, 4],
  [2, 11, 12],
  [2, 17, 20],
  [2, 240, 300],
  [2, 1200, 1200],
  [4, 0, 4],
  [4, 4, 4],
  [4, 5, 8],
  [4, 21, 24],
  [4, 500, 600],
])('an axis of %i steps for %i ends at %i', (steps, value, end) => {
  expect(axisEnd(value, steps)).toBe(end);
});
