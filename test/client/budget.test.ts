import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBudget, startsWithinMs, type BudgetLimits, type Priority } from '../../src/client/budget.ts';
import type { Lane } from '../../src/contract/datasets.ts';
import { memoryRequestTimes } from '../../src/client/request-times.ts';
import { get, transportTo } from './local-transport.ts';
import { mostInSpan } from './most-in-span.ts';
import { virtualClock } from '../core/virtual-clock.ts';

const general = { lane: 'general', priority: 'full' } as const;
const unlimited: BudgetLimits = { concurrency: 64, windows: [], recordings: { windows: [] } };

type Options = { signal?: AbortSignal; takesMs?: number; priority?: Priority };

/** A clock and a budget on it, whose requests note when they start. */
function timedBudget(limits: Partial<BudgetLimits>) {
  const clock = virtualClock(1000);
  const budget = createBudget({ ...unlimited, ...limits }, clock);
  const starts: { name: string; lane: Lane; atMs: number }[] = [];
  const start = (name: string, lane: Lane = 'general', { signal, takesMs = 0, priority = 'full' }: Options = {}) =>
    budget.run(
      async () => {
        starts.push({ name, lane, atMs: clock.now() - 1000 });
        if (takesMs > 0) await clock.sleep(takesMs);
        return name;
      },
      { lane, priority, signal },
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
    ['c', 10_001],
    ['d', 10_001],
    ['e', 20_002],
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
  await clock.settle(Promise.all(Array.from({ length: 9 }, () => budget.run(request, general))));
  expect(seen).toEqual([1, 2, 3, 3, 3, 3, 3, 3, 3]);
  expect(clock.now()).toBe(1030);
});

test('a request that fails gives its place to the next', async () => {
  const { clock, budget, start } = timedBudget({ concurrency: 1 });
  const failure = new Error('failed');
  const failed = reasonOf(budget.run(() => Promise.reject(failure), general));
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
    'list 2': 5001,
    'list 3': 100_001,
  });
});

test('a recordings request that waited for the general windows counts from when it starts', async () => {
  const { clock, starts, start } = timedBudget({
    windows: [{ requests: 2, perSeconds: 100 }],
    recordings: { windows: [{ requests: 1, perSeconds: 10 }] },
  });
  await clock.settle(Promise.all([start('a'), start('b')]));
  await clock.settle(Promise.all([start('list 1', 'recordings list'), start('list 2', 'recordings list')]));
  expect(starts.map(({ atMs }) => atMs)).toEqual([0, 0, 100_001, 110_002]);
});

test('an abort ends the wait for a window at once, and uses up nothing', async () => {
  const { clock, starts, start } = timedBudget({ windows: [{ requests: 1, perSeconds: 60 }] });
  const stop = new AbortController();
  await clock.settle(start('first'));
  const [second, third] = [start('second', 'general', stop), start('third', 'general', stop)];
  await clock.turn();
  stop.abort('stopped');
  expect(await Promise.all([reasonOf(second), reasonOf(third)])).toEqual(['stopped', 'stopped']);
  expect(clock.now()).toBe(1000);
  await clock.turn();
  expect(clock.sleeping()).toBe(0);
  await clock.settle(start('last'));
  expect(starts.map(({ name, atMs }) => [name, atMs])).toEqual([
    ['first', 0],
    ['last', 60_001],
  ]);
});

test('an abort ends the wait behind somebody who goes on waiting', async () => {
  const { clock, starts, start } = timedBudget({ windows: [{ requests: 1, perSeconds: 60 }] });
  const stop = new AbortController();
  const others = [start('first'), start('second')];
  const aborted = start('aborted', 'general', stop);
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
  const first = start('first', 'general', { takesMs: 10 });
  const second = start('second', 'general', stop);
  await clock.turn();
  stop.abort('stopped');
  expect(await reasonOf(second)).toBe('stopped');
  expect(await reasonOf(start('third', 'general', stop))).toBe('stopped');
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
    arrivesAfter: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { maxLength: 25 },
);

test('whoever calls when, and whenever a request arrives, the service sees no window exceeded', async () => {
  await fc.assert(
    fc.asyncProperty(
      windows,
      windows,
      fc.integer({ min: 1, max: 5 }),
      calls,
      async (general, recordings, concurrency, calls) => {
        const { clock, budget } = timedBudget({ concurrency, windows: general, recordings: { windows: recordings } });
        let pausedMs = 0;
        const arrivals: { lane: Lane; atMs: number }[] = [];
        const all = calls.map(async ({ lane, pauseMs, takesMs, arrivesAfter }) => {
          pausedMs += pauseMs;
          await clock.sleep(pausedMs);
          await budget.run(
            () => {
              // The clock shows whole milliseconds: a request may begin and end almost one later than it says.
              arrivals.push({ lane, atMs: clock.now() + (takesMs + 0.999) * arrivesAfter });
              return takesMs === 0 ? Promise.resolve() : clock.sleep(takesMs);
            },
            { lane, priority: 'full' },
          );
        });
        await clock.settle(Promise.all(all));
        expect(arrivals).toHaveLength(calls.length);
        const times = arrivals.map(({ atMs }) => atMs);
        const listTimes = arrivals.filter(({ lane }) => lane === 'recordings list').map(({ atMs }) => atMs);
        for (const window of general) expect(mostInSpan(times, window)).toBeLessThanOrEqual(window.requests);
        for (const window of recordings) expect(mostInSpan(listTimes, window)).toBeLessThanOrEqual(window.requests);
      },
    ),
    { numRuns: 200 },
  );
});

test('deletions go before head passes, and these before full ones', async () => {
  const { clock, starts, start } = timedBudget({ windows: [{ requests: 1, perSeconds: 10 }] });
  const first = start('first');
  const rest = (['full', 'head', 'deletion', 'full', 'deletion'] as const).map((priority, index) =>
    start(`${priority} ${index}`, 'general', { priority }),
  );
  await clock.settle(Promise.all([first, ...rest]));
  expect(names(starts)).toEqual(['first', 'deletion 2', 'deletion 4', 'head 1', 'full 0', 'full 3']);
});

test('a list that waits for its own windows holds no place', async () => {
  const { clock, starts, start } = timedBudget({
    concurrency: 1,
    recordings: { windows: [{ requests: 1, perSeconds: 60 }] },
  });
  const lists = ['list 1', 'list 2'].map((name) => start(name, 'recordings list'));
  await clock.settle(lists[0] ?? Promise.reject(new Error('no list')));
  await clock.settle(start('a'));
  await clock.settle(Promise.all(lists));
  expect(starts.map(({ name, atMs }) => [name, atMs])).toEqual([
    ['list 1', 0],
    ['a', 0],
    ['list 2', 60_001],
  ]);
});

test('a pause holds everybody, whatever their lane, and then half of each window is used', async () => {
  const { clock, budget, starts, start } = timedBudget({ windows: [{ requests: 4, perSeconds: 10 }] });
  await budget.slowDown({ lane: 'general', tookMs: 0, pauseMs: 5000 });
  expect(await budget.left('general')).toBe(0);
  expect(await budget.forecast([{ lane: 'general', requests: 1 }])).toEqual([6000]);
  const all = [start('list', 'recordings list'), ...['a', 'b'].map((name) => start(name))];
  await clock.settle(Promise.all(all));
  expect(starts.map(({ name, atMs }) => [name, atMs])).toEqual([
    ['list', 5000],
    ['a', 5000],
    ['b', 15_001],
  ]);
});

test('a pause holds where no window does', async () => {
  const { clock, budget, starts, start } = timedBudget({});
  await budget.slowDown({ lane: 'general', tookMs: 0, pauseMs: 5000 });
  expect(await budget.left('general')).toBeNull();
  await clock.settle(start('a'));
  expect(starts.map(({ atMs }) => atMs)).toEqual([5000]);
});

test('what is left is what the tightest window of the lane leaves', async () => {
  const { clock, budget, start } = timedBudget({
    windows: [
      { requests: 5, perSeconds: 10 },
      { requests: 4, perSeconds: 100 },
    ],
    recordings: { windows: [{ requests: 2, perSeconds: 10 }] },
  });
  expect([await budget.left('general'), await budget.left('recordings list')]).toEqual([4, 2]);
  await clock.settle(Promise.all([start('a'), start('b'), start('list', 'recordings list')]));
  expect([await budget.left('general'), await budget.left('recordings list')]).toEqual([1, 1]);
  expect(await budget.forecast([{ lane: 'general', requests: 2 }])).toEqual([101_001]);
});

test('a lane is used up where its next request would wait for more than a moment, and says until when', async () => {
  const { clock, budget, start } = timedBudget({
    windows: [
      { requests: 1, perSeconds: 1 },
      { requests: 3, perSeconds: 60 },
    ],
    recordings: { windows: [{ requests: 1, perSeconds: 3600 }] },
  });
  const usedUp = (): Promise<unknown[]> =>
    Promise.all([budget.usedUpUntilMs('general'), budget.usedUpUntilMs('recordings list')]);
  expect(await usedUp()).toEqual([null, null]);
  await clock.settle(start('a', 'recordings list'));
  expect(await usedUp()).toEqual([null, 1000 + 3_600_001]);
  await clock.settle(Promise.all([start('b'), start('c')]));
  expect(await usedUp()).toEqual([1000 + 60_001, 1000 + 3_600_001]);
  await clock.settle(clock.sleep(58_500));
  expect((await usedUp())[0]).toBeNull();
});

test('without windows no times are opened; with them, at the first request', async () => {
  const clock = virtualClock();
  let opened = 0;
  const openTimes: typeof memoryRequestTimes = (...given) => {
    opened += 1;
    return memoryRequestTimes(...given);
  };
  const run = (limits: BudgetLimits) => createBudget(limits, clock, openTimes).run(() => Promise.resolve(), general);
  await run(unlimited);
  expect(opened).toBe(0);
  await run({ ...unlimited, windows: [{ requests: 1, perSeconds: 1 }] });
  expect(opened).toBe(1);
});

test('times that cannot be kept fail the requests that wait for them, and no other', async () => {
  const clock = virtualClock();
  const failure = new Error('disk full');
  const openFailing: typeof memoryRequestTimes = (...given) => {
    const times = memoryRequestTimes(...given);
    return {
      ...times,
      tryToBegin: async (lane, tooEarlyMs) => {
        if (clock.now() < 1000) throw failure;
        return times.tryToBegin(lane, tooEarlyMs);
      },
    };
  };
  const limits = { ...unlimited, windows: [{ requests: 1, perSeconds: 1 }] };
  const budget = createBudget(limits, clock, openFailing);
  const run = () => budget.run(() => Promise.resolve('done'), general);
  expect(await reasonOf(run())).toBe(failure);
  clock.setTo(1000);
  expect(await run()).toBe('done');
});

test('a request whose process was stopped right after it might begin takes another turn', async () => {
  const clock = virtualClock();
  const said: string[] = [];
  const openTimes: typeof memoryRequestTimes = () => ({
    read: () => Promise.reject(new Error('not asked for')),
    changePace: () => Promise.reject(new Error('not asked for')),
    tryToBegin: () => {
      said.push('begin');
      if (said.length === 1) clock.setTo(clock.now() + startsWithinMs + 1);
      return Promise.resolve(() => Promise.resolve(void said.push('end')));
    },
  });
  const budget = createBudget({ ...unlimited, windows: [{ requests: 9, perSeconds: 1 }] }, clock, openTimes);
  const request = (): Promise<string> => Promise.resolve(String(said.push('request')));
  await budget.run(request, general);
  expect(said).toEqual(['begin', 'end', 'begin', 'request', 'end']);
});

test('a request whose process was stopped right before it went out takes another turn', async () => {
  const { clock, budget } = timedBudget({});
  const asked: string[] = [];
  const transport = await transportTo((request, response) => {
    asked.push(request.url ?? '');
    response.end();
  });
  let turns = 0;
  const response = await budget.run((isLate) => {
    turns += 1;
    if (turns === 1) clock.setTo(clock.now() + startsWithinMs + 1);
    return transport.send({ ...get, path: `/turn-${turns}`, isLate });
  }, general);
  expect([response.status, asked]).toEqual([200, ['/turn-2']]);
});

test('a clock that is set back makes nobody wait for longer than a window', async () => {
  const { clock, starts, start } = timedBudget({ windows: [{ requests: 1, perSeconds: 10 }] });
  clock.setTo(86_400_000);
  await clock.settle(start('before'));
  clock.setTo(1000);
  await clock.settle(start('after'));
  expect(starts.map(({ atMs }) => atMs)).toEqual([86_399_000, 10_001]);
});

test('a pause asked for before the clock was set back ends once, and the share grows again', async () => {
  const { clock, budget, starts, start } = timedBudget({ windows: [{ requests: 10, perSeconds: 10 }] });
  clock.setTo(86_400_000);
  await budget.slowDown({ lane: 'general', tookMs: 0, pauseMs: 5000 });
  clock.setTo(1000);
  void start('after').catch(() => undefined);
  await clock.settle(clock.sleep(60_000));
  expect(starts.map(({ atMs }) => atMs)).toEqual([5000]);
  await clock.settle(clock.sleep(600_000));
  expect(await budget.left('general')).toBe(10);
});

test('a list of 12,000 at 100 a page takes nine tenths of what is allowed, or more', async () => {
  const { clock, budget } = timedBudget({ concurrency: 4, windows: [{ requests: 20, perSeconds: 2 }] });
  const requests = 127;
  const all = Array.from({ length: requests }, () => budget.run(() => clock.sleep(40), general));
  await clock.settle(Promise.all(all));
  const idealMs = (Math.ceil(requests / 20) - 1) * 2000;
  expect(clock.now() - 1000).toBeLessThan(idealMs / 0.9);
});
