import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { splitRows } from '../../src/export/export-dataset.ts';

function split(rows: readonly number[], partRows: number): number[][] {
  return Array.from(
    splitRows(rows.values(), partRows, (row) => row * 10),
    (part) => [...part],
  );
}

test('every row is in one part, in order; every part but the last is full', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.integer({ min: 1, max: 9 }), (rows, partRows) => {
      const parts = split(rows, partRows);
      expect(parts.flat()).toEqual(rows.map((row) => row * 10));
      expect(parts.slice(0, -1).every((part) => part.length === partRows)).toBe(true);
      expect(parts.length).toBe(Math.max(1, Math.ceil(rows.length / partRows)));
    }),
  );
});

test('reads one row ahead and no further', () => {
  let read = 0;
  const rows = Iterator.from({ next: () => ({ done: false, value: (read += 1) }) });
  const [first] = splitRows(rows, 3, String);
  expect([...(first ?? [])]).toEqual(['1', '2', '3']);
  expect(read).toBe(4);
});
