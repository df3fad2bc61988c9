import { getHeapStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { shrinkHeap } from '../../src/core/heap.ts';

const million = 2 ** 20;
const heapMebibytes = (): number => getHeapStatistics().total_heap_size / million;

/** Uses so much memory, and no longer needs it. */
function use(mebibytes: number): void {
  const blocks = Array.from({ length: mebibytes }, () => Array.from({ length: million / 8 }, () => 0.5));
  expect(blocks).toHaveLength(mebibytes);
}

test('a large heap gives back what is not in use, and is looked through again only once it has grown', () => {
  use(200);
  shrinkHeap();
  const kept = heapMebibytes();
  use(8);
  const grown = heapMebibytes();
  shrinkHeap();
  expect(heapMebibytes()).toBe(grown);
  use(200);
  expect(heapMebibytes()).toBeGreaterThan(kept + 100);
  shrinkHeap();
  expect(heapMebibytes()).toBeLessThan(kept + 40);
});
