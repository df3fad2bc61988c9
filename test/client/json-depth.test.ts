import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isDeeperThan } from '../../src/client/json-depth.ts';

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

test('any JSON is as deep as its value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 1), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const depth = depthOf(JSON.parse(text));
      expect(isDeeperThan(text, depth)).toBe(false);
      if (depth > 0) expect(isDeeperThan(text, depth - 1)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test.for(['"[[[["', '["\\"[[[["]', '["\\\\","]","[["]', '{"{{{{":"}}}}"}', '"', '"\\', '["[[['])(
  'brackets in strings are no levels: %s',
  (text) => {
    expect(isDeeperThan(text, 1)).toBe(false);
  },
);

test('a million levels are seen at once, and cost no stack', () => {
  expect(isDeeperThan('['.repeat(1_000_000), 999_999)).toBe(true);
  expect(isDeeperThan('['.repeat(1_000_000), 1_000_000)).toBe(false);
});
