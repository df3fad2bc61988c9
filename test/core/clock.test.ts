import { expect, test } from 'vitest';
import { isoTime, systemClock } from '../../src/core/clock.ts';

test('a sleep is ended by its signal, with its reason', async () => {
  const stop = new AbortController();
  const sleep = systemClock.sleep(60_000, stop.signal);
  stop.abort(new Error('enough'));
  await expect(sleep).rejects.toThrow('enough');
  await expect(systemClock.sleep(60_000, stop.signal)).rejects.toThrow('enough');
});

test('a sleep of no time ends', async () => {
  await expect(systemClock.sleep(0)).resolves.toBeUndefined();
});

test('times are written in UTC with milliseconds', () => {
  expect(isoTime(1_714_521_600_123)).toBe('2024-05-01T00:00:00.123Z');
});
