import { expect, it } from 'vitest';
import { TextMap } from '../../src/core/text-map.ts';

it('finds each of many texts, and no other', () => {
  const map = new TextMap();
  for (let n = 1; n <= 20_000; n += 1) map.add(`text ${n}`, n);
  expect(map.size).toBe(20_000);
  let [wrong, asked] = [0, 0];
  for (let n = 1; n <= 40_000; n += 1) {
    const found = map.find(`text ${n}`, (rowKey) => {
      asked += 1;
      return rowKey === n;
    });
    if (found !== (n <= 20_000 ? n : undefined)) wrong += 1;
  }
  expect(wrong).toBe(0);
  // Hardly ever is another text looked at.
  expect(asked).toBeLessThan(20_100);
});

it('finds the right one of several keys of a text', () => {
  const map = new TextMap();
  for (const rowKey of [3, 1, 2]) map.add('shared', rowKey);
  expect(map.find('shared', (rowKey) => rowKey === 2)).toBe(2);
  expect(map.find('shared', () => false)).toBeUndefined();
});
