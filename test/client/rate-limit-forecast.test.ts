import { expect, test } from 'vitest';
import { forecastStarts } from '../../src/client/rate-limit.ts';

const nobody = { general: [], 'recordings list': [] };
const windows = {
  general: [
    { requests: 4, perSeconds: 10 },
    { requests: 6, perSeconds: 100 },
  ],
  'recordings list': [{ requests: 1, perSeconds: 20 }],
};

test('each step ends as soon as every window allows its last request', () => {
  const steps = [
    { lane: 'general', requests: 5 },
    { lane: 'general', requests: 0 },
    { lane: 'general', requests: 2 },
  ] as const;
  expect(forecastStarts(steps, windows, nobody, 1000)).toEqual([11_000, 11_000, 101_000]);
});

test('the list of recordings is held by its own windows too, and uses up those of all', () => {
  const steps = [
    { lane: 'recordings list', requests: 3 },
    { lane: 'general', requests: 4 },
  ] as const;
  expect(forecastStarts(steps, windows, nobody, 0)).toEqual([40_000, 100_000]);
});

test('what has been used already counts', () => {
  const used = { general: [-9000, -8000, -7000, -6000], 'recordings list': [-6000] };
  const [general] = forecastStarts([{ lane: 'general', requests: 2 }], windows, used, 0);
  expect(general).toBe(2000);
  const [list] = forecastStarts([{ lane: 'recordings list', requests: 1 }], windows, used, 0);
  expect(list).toBe(14_000);
});

test('without windows everything may go at once', () => {
  const none = { general: [], 'recordings list': [] };
  expect(forecastStarts([{ lane: 'recordings list', requests: 100_000 }], none, nobody, 7)).toEqual([7]);
});
