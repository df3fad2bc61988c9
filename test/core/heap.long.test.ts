import { setImmediate } from 'node:timers/promises';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { growYoungGeneration, shrinkHeap } from '../../src/core/heap.ts';
import { openErasureWorld } from '../erasure/erasure-world.ts';

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

const youngMebibytes = (): number =>
  (getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0) / million;

test('the young generation is grown again by the next pass', async () => {
  growYoungGeneration();
  expect(youngMebibytes()).toBeGreaterThanOrEqual(8);
  // As V8 does by itself in a process that is idle.
  setFlagsFromString('--expose-gc');
  (runInNewContext('globalThis.gc') as NodeJS.GCFunction)({ flavor: 'last-resort' });
  expect(youngMebibytes()).toBeLessThan(4);
  const world = await openErasureWorld(5);
  await world.sync();
  expect(youngMebibytes()).toBeGreaterThanOrEqual(8);
});
