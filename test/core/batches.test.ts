import { expect, test } from 'vitest';
import { inBatches, resultsByBatch, turned } from '../../src/core/batches.ts';
import { AppError } from '../../src/core/errors.ts';

test('no more than so many are under way at once, and the results keep the order of the items', async () => {
  let underWay = 0;
  let most = 0;
  const results = await inBatches([5, 4, 3, 2, 1], { atOnce: 2 }, async (item) => {
    underWay += 1;
    most = Math.max(most, underWay);
    for (let turn = 0; turn < item; turn += 1) await Promise.resolve();
    underWay -= 1;
    return item * 10;
  });
  expect(results).toEqual([50, 40, 30, 20, 10]);
  expect(most).toBe(2);
});

test('the results of a batch come before the next batch begins', async () => {
  const begun: number[] = [];
  const seen: number[][] = [];
  const batches = resultsByBatch([1, 2, 3], { atOnce: 2 }, async (item) => begun.push(item));
  for await (const batch of batches) seen.push([...batch, begun.length]);
  expect(seen).toEqual([
    [1, 2, 2],
    [3, 3],
  ]);
});

test('where items fail, the others of their batch end first; a refusal tells more than another error', async () => {
  const ended: number[] = [];
  const refused = new AppError('no', { code: 'refused' });
  const act = async (item: number): Promise<void> => {
    if (item === 1) throw new Error('first');
    await Promise.resolve();
    ended.push(item);
    if (item === 2) throw refused;
  };
  await expect(inBatches([1, 2, 3, 4], { atOnce: 3 }, act)).rejects.toBe(refused);
  expect(ended).toEqual([2, 3]);
  await expect(inBatches([1, 3], { atOnce: 2 }, act)).rejects.toThrow('first');
});

test('an aborted signal ends it before the next batch', async () => {
  const abort = new AbortController();
  const done: number[] = [];
  const act = async (item: number): Promise<void> => {
    done.push(item);
    abort.abort(new Error('stopped'));
  };
  await expect(inBatches([1, 2, 3], { atOnce: 1, signal: abort.signal }, act)).rejects.toThrow('stopped');
  expect(done).toEqual([1]);
});

test('each item is the first at some turn, and none is left out', () => {
  expect([0, 1, 2, 3].map((turn) => turned(['a', 'b', 'c'], turn).join(''))).toEqual(['abc', 'bca', 'cab', 'abc']);
  expect(turned([], 5)).toEqual([]);
});
