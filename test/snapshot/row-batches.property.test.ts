import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isBefore } from '../../src/snapshot/row-batches.ts';

const text = fc.string({ unit: 'binary', maxLength: 8 });

test('texts are ordered as their UTF-8 bytes are', () => {
  fc.assert(
    fc.property(text, text, text, (prefix, a, b) => {
      const [left, right] = [prefix + a, prefix + b];
      expect(isBefore(left, right)).toBe(Buffer.compare(Buffer.from(left), Buffer.from(right)) < 0);
    }),
    { numRuns: 2000 },
  );
});

test('an emoji comes after every single unit, and a prefix before what it begins', () => {
  expect(isBefore('\uffff', '😀')).toBe(true);
  expect(isBefore('😀', '\uffff')).toBe(false);
  expect(isBefore('a', 'ab')).toBe(true);
  expect(isBefore('ab', 'ab')).toBe(false);
});
