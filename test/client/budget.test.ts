import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBudget, type BudgetLimits, type Lane } from '../../src/client/budget.ts';
import type { RateWindow } from '../../src/client/rate-limit.ts';
import { virtualClock } from '../core/virtual-clock.ts';

const unlimited: BudgetLimits = { concurrency: 64, windows: [], recordings: { windows: [] } };

/** A clock and a budget on it, whose requests note when they start. */
function timedBudget(limits: Partial<BudgetLimits>) {
  const clock = virtualClock(1000);
  const budget = createBudget({ ...unlimited, ...limits }, clock);
  const starts: { name: string; lane: Lane; atMs: number }[] = [];
  const start = (name: string, lane: Lane = 'general', signal?: AbortSignal, takesMs = 0) =>
    budget.run(
      async () => {
        starts.push({ name, lane, atMs: clock.now() - 1000 });
        if (takesMs > 0) await clock.sleep(takesMs);
        return name;
      },
      lane,
      signal,
    );
  return { clock, budget, starts, start };
}

const names = (starts: readonly { name: string }[]) => starts.map(({ name }) => name);
const reasonOf = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no rejection',
    (reason: unknown) => reason,
  );

test('requests start in the order of the calls, as soon as the window allows', async () => {
  const { clock, starts, start } = timedBudget({ windows: [{ requests: 2, perSeconds: 10 }] });
  const results = await clock.settle(Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => start(name))));
  expect(results).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(starts.map(({ name, atMs }) => [name, atMs])).toEqual([
    ['a', 0],
    ['b', 0],
    ['c', 10_000],
    ['d', 10_000],
    ['e', 20_000],
  ]);
});

test('never more requests are under way than allowed, and never fewer while some wait', async () => {
  const { clock, budget } = timedBudget({ concurrency: 3 });
  let underWay = 0;
  const seen: number[] = [];
  const request = async () => {
    underWay += 1;
    seen.push(underWay);
    await clock.sleep(10);
    underWay -= 1;
  };
  await clock.settle(Promise.all(Array.from({ length: 9 }, () => budget.run(request, 'general'))));
  expect(seen).toEqual([1, 2, 3, 3, 3, 3, 3, 3, 3]);
  expect(clock.now()).toBe(1030);
});

test('a request that fails gives its place to the next', async () => {
  const { clock, budget, start } = timedBudget({ concurrency: 1 });
  const failure = new Error('failed');
  const failed = reasonOf(budget.run(() => Promise.reject(failure), 'general'));
  expect(await clock.settle(start('next'))).toBe('next');
  expect(await failed).toBe(failure);
});

test('the list of recordings has its own windows on top, and holds nobody else up', async () => {
  const { clock, starts, start } = timedBudget({
    windows: [{ requests: 4, perSeconds: 100 }],
    recordings: { windows: [{ requests: 1, perSeconds: 5 }] },
  });
  const lists = ['list 1', 'list 2', 'list 3'].map((name) => start(name, 'recordings list'));
  await clock.settle(Promise.all([...lists, start('a'), start('b')]));
  expect(Object.fromEntries(starts.map(({ name, atMs }) => [name, atMs]))).toEqual({
    a: 0,
    b: 0,
    'list 1': 0,
    'list 2': 5000,
    'list 3': 100_000,
  });
});

test('a recordings request that waited for the general windows counts from when it starts', async () => {
  const { clock, starts, start } = timedBudget({
    windows: [{ requests: 2, perSeconds: 100 }],
    recordings: { windows: [{ requests: 1, perSeconds: 10 }] },
  });
  const all = [
    start('a'),
    start('b'),
    start('list 1', 'recordings list'),
    start('list 2', 'recordings list'),
  ];
  await clock.settle(Promise.all(all));
  expect(starts.map(({ atMs }) => atMs)).toEqual([0, 0, 100_000, 110_000]);
});

test('an abort ends the wait for a window at once, and uses up nothing', async () => {
  const { clock, starts, start } = timedBudget({ windows: [{ requests: 1, perSeconds: 60 }] });
  const stop = new AbortController();
  await clock.settle(start('first'));
  const [second, third] = [start('second', 'general', stop.signal), start('third', 'general', stop.signal)];
  await clock.turn();
  stop.abort('stopped');
  expect(await Promise.all([reasonOf(second), reasonOf(third)])).toEqual(['stopped', 'stopped']);
  expect(clock.now()).toBe(1000);
  await clock.turn();
  expect(clock.sleeping()).toBe(0);
  await clock.settle(start('last'));
  expect(starts.map(({ name, atMs }) => [name, atMs])).toEqual([
    ['first', 0],
    ['last', 60_000],
  ]);
});

test('an abort ends the wait behind somebody who goes on waiting', async () => {
  const { clock, starts, start } = timedBudget({ windows: [{ requests: 1, perSeconds: 60 }] });
  const stop = new AbortController();
  const others = [start('first'), start('second')];
  const aborted = start('aborted', 'general', stop.signal);
  await clock.turn();
  stop.abort('stopped');
  expect(await reasonOf(aborted)).toBe('stopped');
  expect(clock.now()).toBe(1000);
  await clock.settle(Promise.all(others));
  expect(names(starts)).toEqual(['first', 'second']);
});

test('an abort ends the wait for a place, and before it nothing starts', async () => {
  const { clock, starts, start } = timedBudget({ concurrency: 1 });
  const stop = new AbortController();
  const first = start('first', 'general', undefined, 10);
  const second = start('second', 'general', stop.signal);
  await clock.turn();
  stop.abort('stopped');
  expect(await reasonOf(second)).toBe('stopped');
  expect(await reasonOf(start('third', 'general', stop.signal))).toBe('stopped');
  await clock.settle(first);
  expect(names(starts)).toEqual(['first']);
});

const windows = fc.array(
  fc.record({ requests: fc.integer({ min: 1, max: 4 }), perSeconds: fc.integer({ min: 1, max: 9 }) }),
  { maxLength: 2 },
);
const calls = fc.array(
  fc.record({
    lane: fc.constantFrom<Lane>('general', 'recordings list'),
    pauseMs: fc.integer({ min: 0, max: 2000 }),
    takesMs: fc.integer({ min: 0, max: 3000 }),
  }),
  { maxLength: 25 },
);

function mostInSpan(times: readonly number[], { perSeconds }: RateWindow): number {
  return Math.max(
    0,
    ...times.map((from) => times.filter((at) => at >= from && at < from + perSeconds * 1000).length),
  );
}

test('whoever calls when, no window is ever exceeded', async () => {
  await fc.assert(
    fc.asyncProperty(
      windows,
      windows,
      fc.integer({ min: 1, max: 5 }),
      calls,
      async (general, recordings, concurrency, calls) => {
        const { clock, starts, start } = timedBudget({
          concurrency,
          windows: general,
          recordings: { windows: recordings },
        });
        let pausedMs = 0;
        const all = calls.map(async ({ lane, pauseMs, takesMs }, index) => {
          pausedMs += pauseMs;
          await clock.sleep(pausedMs);
          await start(String(index), lane, undefined, takesMs);
        });
        await clock.settle(Promise.all(all));
        expect(starts).toHaveLength(calls.length);
        const times = starts.map(({ atMs }) => atMs);
        const listTimes = starts.filter(({ lane }) => lane === 'recordings list').map(({ atMs }) => atMs);
        for (const window of general) expect(mostInSpan(times, window)).toBeLessThanOrEqual(window.requests);
        for (const window of recordings)
          expect(mostInSpan(listTimes, window)).toBeLessThanOrEqual(window.requests);
      },
    ),
    { numRuns: 200 },
  );
});
