import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { retry, type RetryLimits } from '../../src/core/retry.ts';
import { virtualClock } from './virtual-clock.ts';

const limits: RetryLimits = { attemptsMax: 5, delayBaseMs: 100, delayMaxMs: 1000, totalMs: 60_000 };
const notReady = new AppError('not ready', { code: 'service', retryable: true });
const always = (error: Error) => () => Promise.reject(error);

test('a success after failures is returned, and each attempt knows its number', async () => {
  const clock = virtualClock();
  const attempts: number[] = [];
  const retried: unknown[] = [];
  const result = await clock.settle(
    retry(
      async (attempt) => {
        attempts.push(attempt);
        if (attempt < 3) throw notReady;
        return 'done';
      },
      limits,
      { clock, random: () => 0.5, onRetry: (...what) => retried.push(what) },
    ),
  );
  expect(result).toBe('done');
  expect(attempts).toEqual([1, 2, 3]);
  expect(retried).toEqual([
    [notReady, 1, 50],
    [notReady, 2, 100],
  ]);
  expect(clock.sleeps).toEqual([50, 100]);
});

test('after the last attempt the last error is thrown', async () => {
  const clock = virtualClock();
  let attempts = 0;
  const call = () => Promise.reject(new AppError(`${(attempts += 1)}`, { code: 'service', retryable: true }));
  await expect(clock.settle(retry(call, limits, { clock, random: () => 0 }))).rejects.toThrow('5');
  expect(attempts).toBe(5);
});

test.for([
  ['an error that cannot pass', new AppError('no', { code: 'rejected' })],
  ['a bug', new TypeError('bug')],
] as const)('%s is thrown at once', async ([, error]) => {
  const clock = virtualClock();
  await expect(retry(always(error), limits, { clock, random: () => 0 })).rejects.toBe(error);
  expect(clock.sleeps).toEqual([]);
});

test('what the service asks for is waited, however small the jitter', async () => {
  const clock = virtualClock();
  const asked = new AppError('later', { code: 'service', retryable: true, retryAfterMs: 7000 });
  const run = retry(always(asked), { ...limits, attemptsMax: 2 }, { clock, random: () => 0 });
  await expect(clock.settle(run)).rejects.toBe(asked);
  expect(clock.sleeps).toEqual([7000]);
});

test('what the service asks for does not shorten the jitter', async () => {
  const clock = virtualClock();
  const asked = new AppError('soon', { code: 'service', retryable: true, retryAfterMs: 10 });
  const run = retry(always(asked), { ...limits, attemptsMax: 2 }, { clock, random: () => 0.5 });
  await expect(clock.settle(run)).rejects.toBe(asked);
  expect(clock.sleeps).toEqual([50]);
});

test('no wait leads beyond the total', async () => {
  const clock = virtualClock();
  const asked = new AppError('later', { code: 'service', retryable: true, retryAfterMs: 40_000 });
  await expect(clock.settle(retry(always(asked), limits, { clock, random: () => 0 }))).rejects.toBe(asked);
  expect(clock.sleeps).toEqual([40_000]);
});

test('a call that waited long for its first turn is repeated all the same', async () => {
  const clock = virtualClock();
  const call = async (attempt: number) => {
    if (attempt > 1) return 'done';
    await clock.sleep(limits.totalMs + 1);
    throw notReady;
  };
  expect(await clock.settle(retry(call, limits, { clock, random: () => 0.5 }))).toBe('done');
});

test('an abort ends the wait with its own reason', async () => {
  const clock = virtualClock();
  const stop = new AbortController();
  const reason = new AppError('interrupted', { code: 'interrupted' });
  const run = retry(always(notReady), limits, { clock, random: () => 0.9, signal: stop.signal });
  await clock.turn();
  stop.abort(reason);
  await expect(run).rejects.toBe(reason);
  expect(clock.sleeps).toHaveLength(1);
});

test('an abort during an attempt is not retried, whatever the attempt threw', async () => {
  const clock = virtualClock();
  const stop = new AbortController();
  const reason = new AppError('interrupted', { code: 'interrupted' });
  const call = async () => {
    stop.abort(reason);
    throw notReady;
  };
  await expect(retry(call, limits, { clock, random: () => 0, signal: stop.signal })).rejects.toBe(reason);
  expect(clock.sleeps).toEqual([]);
});

test('every wait stays within its bounds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        attemptsMax: fc.integer({ min: 1, max: 8 }),
        delayBaseMs: fc.integer({ min: 1, max: 1000 }),
        delayMaxMs: fc.integer({ min: 1, max: 5000 }),
        totalMs: fc.integer({ min: 1, max: 20_000 }),
      }),
      fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 8, maxLength: 8 }),
      fc.option(fc.integer({ min: 0, max: 10_000 }), { nil: undefined }),
      async (limits, randoms, retryAfterMs) => {
        const clock = virtualClock(1_700_000_000_000);
        const startedAt: number[] = [];
        const call = async () => {
          startedAt.push(clock.now() - 1_700_000_000_000);
          throw new AppError('no', {
            code: 'service',
            retryable: true,
            ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
          });
        };
        const run = retry(call, limits, { clock, random: () => randoms[startedAt.length - 1] ?? 0 });
        await expect(clock.settle(run)).rejects.toThrow('no');
        expect(startedAt.length).toBeLessThanOrEqual(limits.attemptsMax);
        // One microsecond is more than the rounding of times near 2^40.
        expect(Math.max(...startedAt)).toBeLessThanOrEqual(limits.totalMs + 0.001);
        clock.sleeps.forEach((delayMs, index) => {
          const backoffMaxMs = Math.min(limits.delayMaxMs, limits.delayBaseMs * 2 ** index);
          expect(delayMs).toBeGreaterThanOrEqual(retryAfterMs ?? 0);
          expect(delayMs).toBeLessThanOrEqual(Math.max(backoffMaxMs, retryAfterMs ?? 0));
        });
      },
    ),
    { numRuns: 300 },
  );
});
