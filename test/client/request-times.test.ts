import { describe, expect, test } from 'vitest';
import { memoryRequestTimes, type RequestTimes } from '../../src/client/request-times.ts';
import { openRequestTimes } from '../../src/mirror/request-times.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';

const stores: [string, () => RequestTimes][] = [
  ['in memory', memoryRequestTimes],
  ['in the mirror', () => openRequestTimes(openTestMirror().db, 1000)],
];

describe.for(stores)('request times %s', ([, open]) => {
  test('are the latest ends, oldest first, whatever order they came in', () => {
    const times = open();
    const ids = [100, 101, 102, 103].map((nowMs) => times.begin('general', nowMs));
    for (const [index, endedAtMs] of [140, 110, 130, 120].entries()) times.end(ids[index] ?? 0, endedAtMs);
    expect(times.latest(undefined, 9, 200)).toEqual([110, 120, 130, 140]);
    expect(times.latest(undefined, 2, 200)).toEqual([130, 140]);
  });

  test('are those of one lane, or of all', () => {
    const times = open();
    times.end(times.begin('general', 1), 2);
    times.end(times.begin('recordings list', 3), 4);
    expect(times.latest('recordings list', 9, 10)).toEqual([4]);
    expect(times.latest('general', 9, 10)).toEqual([2]);
    expect(times.latest(undefined, 9, 10)).toEqual([2, 4]);
  });

  test('count a request under way as ending now, until it has ended', () => {
    const times = open();
    const id = times.begin('general', 100);
    expect(times.latest(undefined, 9, 150)).toEqual([150]);
    times.end(id, 160);
    expect(times.latest(undefined, 9, 999)).toEqual([160]);
  });

  test('forget what ended too long ago, and nothing that is under way', () => {
    const times = open();
    times.end(times.begin('general', 100), 110);
    times.end(times.begin('general', 100), 120);
    times.begin('general', 100);
    times.confine(120, 200);
    expect(times.latest(undefined, 9, 200)).toEqual([120, 200]);
  });

  test('take ends in the future for ends just now, once and for all', () => {
    const times = open();
    times.end(times.begin('general', 5000), 9000);
    times.confine(0, 2000);
    expect(times.latest(undefined, 9, 3000)).toEqual([2000]);
  });

  test('give back what is done at once, or its error', () => {
    const times = open();
    expect(times.atomically(() => times.begin('general', 1))).toBeGreaterThan(0);
    expect(() =>
      times.atomically(() => {
        throw new Error('failed');
      }),
    ).toThrow('failed');
  });
});
