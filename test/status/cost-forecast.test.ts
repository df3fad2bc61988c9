import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBudget, type Budget } from '../../src/client/budget.ts';
import type { Lane } from '../../src/contract/datasets.ts';
import type { Service } from '../../src/client/service.ts';
import { AppError } from '../../src/core/errors.ts';
import { settingsWith } from '../config/settings-with.ts';
import {
  planPasses,
  walkedRows,
  windowsForRows,
  type PassPlan,
  type WalkedRows,
} from '../../src/status/cost-forecast.ts';
import { finishPass, startPass } from '../../src/mirror/passes.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';
import { virtualClock } from '../core/virtual-clock.ts';

const rowCounts = { persons: 777, recordings: 55 };

/** The plan for lists of these lengths, after requests of these lanes; a list without a length gives no count. */
function plan(
  counts: Record<string, number>,
  mirrorRows: WalkedRows | null,
  set: Record<string, unknown>,
  used: readonly Lane[] = [],
  refusedParameter?: string,
) {
  const settings = settingsWith(set);
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const asked: unknown[] = [];
  const service: Service = {
    call: async (name, args) => {
      asked.push([name, args?.query, args?.extraQuery]);
      if (refusedParameter !== undefined && refusedParameter in (args?.extraQuery ?? {}))
        throw new AppError('unknown parameter', { code: 'rejected', status: 400 });
      return { status: 200, body: { count: counts[name], results: [] }, date: undefined };
    },
    requestCount: () => asked.length,
  };
  const { signal } = new AbortController();
  const budget = createBudget(settings.budget, clock);
  return {
    asked,
    planned: useUp(budget, used).then(() =>
      planPasses({ settings, service, budget, mirrorRows, signal, nowMs: () => clock.now() }),
    ),
  };
}

async function useUp(budget: Budget, lanes: readonly Lane[]): Promise<void> {
  for (const lane of lanes) await budget.run(() => Promise.resolve(), { lane, priority: 'full' });
}

const limits = {
  'persons.pageSize': 100,
  'persons.overlap': 10,
  'budget.windows': [{ requests: 10, perSeconds: 60 }],
  'budget.recordings.windows': [{ requests: 1, perSeconds: 60 }],
};

test('passes follow each other, each as long as the budget makes it', async () => {
  const counts = { 'persons.list': 1900, 'recordings.list': 2500 };
  const { planned, asked } = plan(counts, rowCounts, {
    ...limits,
    'playlists.shortIds': ['a', 'b'],
    'recordings.query': { date_from: '-30d' },
  });
  expect(await planned).toEqual({
    requestsLeft: 10,
    budget: { pausedUntil: null, learnt: null },
    passes: [
      {
        dataset: 'persons',
        rows: 1900,
        rowsFrom: 'service',
        requests: 22,
        seconds: 120,
        finishAt: '2026-01-01T00:02:00.000Z',
      },
      {
        dataset: 'recordings',
        rows: 2500,
        rowsFrom: 'service',
        requests: 4,
        seconds: 180,
        finishAt: '2026-01-01T00:05:00.000Z',
      },
      {
        dataset: 'playlists',
        rows: 2,
        rowsFrom: 'settings',
        requests: 4,
        seconds: 0,
        finishAt: '2026-01-01T00:05:00.000Z',
      },
    ],
    requests: 30,
    seconds: 300,
    finishAt: '2026-01-01T00:05:00.000Z',
  });
  expect(asked).toEqual([
    ['persons.list', { limit: 1, offset: 0 }, { include_total: 'true' }],
    ['recordings.list', { limit: 1, offset: 0 }, { date_from: '-30d' }],
  ]);
});

test('a service that refuses to be asked for the total is asked without', async () => {
  const { planned, asked } = plan({ 'persons.list': 1900 }, null, limits, [], 'include_total');
  expect((await planned).passes[0]).toMatchObject({ rows: 1900, rowsFrom: 'service' });
  expect(asked.slice(0, 2)).toEqual([
    ['persons.list', { limit: 1, offset: 0 }, { include_total: 'true' }],
    ['persons.list', { limit: 1, offset: 0 }, {}],
  ]);
});

test('where the service gives no count, the mirror’s is taken, and without a mirror none', async () => {
  const { passes } = await plan({}, rowCounts, limits).planned;
  expect(passes.map(({ rows, rowsFrom, requests }) => [rows, rowsFrom, requests])).toEqual([
    [777, 'mirror', 10],
    [55, 'mirror', 2],
    [0, 'settings', 0],
  ]);
  const unknown = await plan({}, null, limits).planned;
  expect(unknown.passes[0]).toEqual({
    dataset: 'persons',
    rows: null,
    rowsFrom: null,
    requests: null,
    seconds: null,
    finishAt: null,
  });
  expect(unknown.requests).toBe(0);
});

test('what the budget leaves no request for is not waited for: the mirror’s counts are taken', async () => {
  const counts = { 'persons.list': 1900, 'recordings.list': 2500 };
  const said = ({ passes }: PassPlan): unknown[] => passes.map(({ rows, rowsFrom }) => [rows, rowsFrom]);
  const narrow = plan(counts, rowCounts, limits, ['recordings list']);
  expect(said(await narrow.planned)).toEqual([
    [1900, 'service'],
    [55, 'mirror'],
    [0, 'settings'],
  ]);
  expect(narrow.asked).toHaveLength(1);
  const usedUp = Array.from({ length: 10 }, (): Lane => 'general');
  const wide = plan(counts, rowCounts, limits, usedUp);
  expect(await wide.planned).toMatchObject({
    requestsLeft: 0,
    passes: [{ rows: 777, rowsFrom: 'mirror', seconds: 61 }, { rows: 55 }, {}],
  });
  expect(said(await plan(counts, null, limits, usedUp).planned)).toEqual([
    [null, null],
    [null, null],
    [0, 'settings'],
  ]);
  expect(wide.asked).toEqual([]);
});

test('the mirror’s count is that of a list only once a full pass has ended', () => {
  const { db } = openTestMirror();
  const at = '2026-01-01T00:00:00.000Z';
  const id = startPass(db, { dataset: 'persons', mode: 'full', plan: '{}', at });
  expect(walkedRows(db)).toEqual({ persons: null, recordings: null });
  finishPass(db, id, 'seam_not_joined', at);
  expect(walkedRows(db)).toEqual({ persons: 0, recordings: null });
});

test('no pass makes more requests than sync.windowsMax', async () => {
  const counts = { 'persons.list': 2 ** 50, 'recordings.list': 0 };
  const { passes } = await plan(counts, null, { ...limits, 'sync.windowsMax': 30 }).planned;
  expect(passes.map(({ requests }) => requests)).toEqual([30, 1, 0]);
});

test('without windows a forecast takes no time, and nothing is short', async () => {
  const counts = { 'persons.list': 1_000_000, 'recordings.list': 0 };
  const free = { 'budget.windows': [], 'budget.recordings.windows': [] };
  expect(await plan(counts, null, free).planned).toMatchObject({ requestsLeft: null, seconds: 0 });
});

test('windows cover all rows, each but the first adding what it does not share', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 5000 }),
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: 0, max: 320 }),
      fc.boolean(),
      (rows, pageSize, overlap, isCounted) => {
        const windows = windowsForRows(rows, pageSize, overlap, isCounted);
        const step = Math.max(1, pageSize - overlap);
        const further = Math.max(0, windows - 2);
        expect(pageSize + further * step).toBeGreaterThanOrEqual(rows);
        if (windows > 2) expect(pageSize + (further - 1) * step).toBeLessThan(rows);
        // An only page needs none that confirms it where it has a count, or is small.
        expect(windows === 1).toBe(isCounted ? rows <= pageSize : rows < Math.min(pageSize, 50));
      },
    ),
  );
});
