import { setImmediate } from 'node:timers/promises';
import { getHeapStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { shrinkHeap } from '../../src/core/heap.ts';

const million = 2 ** 20;
const heapMebibytes = (): number => getHeapStatistics().total_heap_size / million;

/** So much memory in use. */
function allocate(mebibytes: number): number[][] {
  return Array.from({ length: mebibytes }, () => Array.from({ length: million / 8 }, () => 0.5));
}

/** Whether a call of `shrinkHeap` collects what is not in use. */
async function collects(): Promise<boolean> {
  const unused = new WeakRef({});
  // Until then, it is in use.
  await setImmediate();
  shrinkHeap();
  return unused.deref() === undefined;
}

test('a large heap gives back what is not in use', async () => {
  const inUse = allocate(100);
  allocate(200);
  const before = heapMebibytes();
  expect(await collects()).toBe(true);
  expect(heapMebibytes()).toBeLessThan(before - 100);
  expect(inUse).toHaveLength(100);
});
