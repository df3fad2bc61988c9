import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { AppError } from '../../src/core/errors.ts';
import { walk } from '../../src/sync/walk.ts';
import { beginWalk, judgePage, type WalkStep } from '../../src/sync/walk-plan.ts';
import type { WalkPlan } from '../../src/sync/walk-windows.ts';
import { timeText, type PageView } from '../../src/sync/seam.ts';
import type { WalkState, Window } from '../../src/sync/walk-state.ts';
import { noEvidence, type PassEvidence } from '../../src/mirror/passes.ts';
import { unchangedPage } from '../../src/mirror/write-rows.ts';
import { DriftingList, type Drift, type Serving } from './drifting-list.ts';

/** One thing that happens between two answers: the list drifts, and one of the waiting requests is answered. */
type Event = { drift: Drift; answers: number; fails: boolean };

/** A walk over a list, and everything that happens meanwhile. */
export type Run = {
  size: number;
  pageSize: number;
  overlap: number;
  inFlightMax: number;
  serving: Serving;
  events: Event[];
};

/**
 * How a walk ended: why it is not complete, the stable rows that it has not seen, and what it took. The reason is `trusted` where it
 * is complete by trust that the service keeps the order of rows of a moment or without a time, and this service does not.
 */
export type Outcome = { reason: string | null; missed: string[]; evidence: PassEvidence; requests: number };

const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
/** Any change of a list. */
export const drift: fc.Arbitrary<Drift> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), at: fraction }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('burst' as const), at: fraction, count: fc.integer({ min: 2, max: 60 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('create' as const), count: fc.integer({ min: 1, max: 15 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('merge' as const), loser: fraction, survivor: fraction }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('lose' as const), at: fraction, count: fc.integer({ min: 1, max: 70 }) }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'quiet' as const }) },
);

/** Runs with everything that a live service does: creation, deletion, bursts, merges, short pages, caps, failures. */
export const anyRun: fc.Arbitrary<Run> = fc.record({
  size: fc.integer({ min: 0, max: 400 }),
  pageSize: fc.integer({ min: 25, max: 60 }),
  overlap: fc.integer({ min: 2, max: 8 }),
  inFlightMax: fc.integer({ min: 1, max: 4 }),
  serving: fc.record({
    cap: fc.oneof(fc.constant(1000), fc.integer({ min: 22, max: 40 })),
    hasEmptyLastPage: fc.boolean(),
    tellsNext: fc.boolean(),
    count: fc.constantFrom('right' as const, 'missing' as const, 'wrong' as const),
    untimed: fc.constantFrom(0, 0, 2, 5),
    timeless: fc.record({
      rows: fc.constantFrom(0, 0, 0, 1, 3, 40),
      at: fc.constantFrom('top' as const, 'end' as const),
    }),
    moments: fc.record({
      rows: fc.constantFrom(1, 2, 3, 50),
      oldest: fc.constantFrom(0, 0, 21, 60, 300),
      order: fc.constantFrom('kept' as const, 'by page' as const, 'by answer' as const),
    }),
  }),
  events: fc.array(
    fc.record({ drift, answers: fraction, fails: fc.integer({ min: 0, max: 9 }).map((draw) => draw === 0) }),
    { maxLength: 60 },
  ),
});

/** The plan that a run is walked by. */
export function planOf({ pageSize, overlap }: Pick<Run, 'pageSize' | 'overlap'>): WalkPlan {
  return { pageSize, widestRows: 16 * pageSize, overlap, windowsMax: 2000, restartsMax: 20, roundsMax: 4 };
}

/**
 * Walks through the program's own walk. Requests are answered in any order, each as the list is at that moment, and
 * some of those far down the list fail until less is asked for.
 */
export async function walkDrifting(run: Run): Promise<Outcome> {
  const list = new DriftingList(run.size, run.serving);
  const events = run.events.values();
  const seen = new Set<string>();
  const waiting: { window: Window; answer: (view: PageView) => void; fail: (error: AppError) => void }[] = [];
  let requests = 0;
  let evidence = noEvidence;
  const over = new AbortController();
  const answerOne = (): void => {
    const event = requests === 0 ? undefined : events.next().value;
    if (event) list.apply(event.drift);
    requests += 1;
    const [request] = waiting.splice(Math.floor((event?.answers ?? 0) * waiting.length), 1);
    if (event?.fails && request && request.window.offset > 0 && request.window.limit > 20)
      request.fail(new AppError('deep', { code: 'service', status: 500 }));
    else request?.answer(list.page(request.window));
  };
  const serve = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await nextTurn();
      if (waiting.length > 0) answerOne();
    }
  };
  const walked = walk(
    {
      plan: planOf(run),
      inFlightMax: run.inFlightMax,
      fetchPage: async (window) => {
        const view = await new Promise<PageView>((answer, fail) => waiting.push({ window, answer, fail }));
        return { rows: [], quarantined: [], sent: undefined, view };
      },
      takePage: ({ view }, state) => {
        const step = judgePage(planOf(run), state, view, takeNew(view, seen));
        evidence = step.state.evidence;
        return { step, outcome: unchangedPage(view.keys.length) };
      },
      unchangedRowsMax: null,
      onProgress: () => undefined,
      signal: new AbortController().signal,
    },
    beginWalk(planOf(run)),
  ).finally(() => over.abort());
  const [reason] = await Promise.all([walked, serve()]);
  return { ...outcomeOf(run, list, seen, reason, evidence), requests };
}

/** Takes a step as `judgePage` does; mutants take it wrongly. `newRows`: how many rows of the page were not seen before, `isKnown`: whether any was. */
export type Judge = (plan: WalkPlan, state: WalkState, page: PageView, newRows: number, isKnown: boolean) => WalkStep;

/** Walks one window after the other by the given judgement. */
export function walkBy(run: Run, judge: Judge): Outcome {
  const list = new DriftingList(run.size, run.serving);
  const events = run.events.values();
  const seen = new Set<string>();
  let state = beginWalk(planOf(run));
  for (let requests = 1; ; requests += 1) {
    const event = requests === 1 ? undefined : events.next().value;
    if (event) list.apply(event.drift);
    const view = list.page(state.window);
    const isKnown = view.keys.some((key) => seen.has(key));
    const step = judge(planOf(run), state, view, takeNew(view, seen), isKnown);
    state = step.state;
    if (step.next === 'end') return { ...outcomeOf(run, list, seen, step.reason, state.evidence), requests };
  }
}

/** Wrong walks, each a mistake that real connectors make. */
export const mutants: Record<string, Judge> = {
  'without an overlap': (plan, state, page, newRows) => {
    const step = judgePage({ ...plan, overlap: 0 }, state, page, newRows);
    return step.next === 'end' ? { ...step, reason: null } : step;
  },
  'stopping on a short page': (plan, state, page, newRows) =>
    judgePage(plan, state, { ...page, isLast: page.isLast || page.keys.length < state.window.limit }, newRows),
  'advancing by the rows received': (plan, state, page, newRows) => {
    const step = judgePage({ ...plan, overlap: 0 }, state, page, newRows);
    if (step.next === 'end') return { ...step, reason: null };
    const offset = state.window.offset + page.keys.length;
    return { ...step, state: { ...step.state, window: { ...step.state.window, offset } } };
  },
  'joining by any row already seen': (plan, state, page, newRows, isKnown) => {
    const { previous } = state;
    if (!isKnown || !previous || previous.isLast) return judgePage(plan, state, page, newRows);
    // Whatever the page begins with is taken for a row of the page before, which ended further down.
    const known = page.keys.slice(0, 2).map((key, index) => ({ key, time: timeText(page.times[index]) }));
    const rows = [...known, ...previous.rows, { key: 'the end', time: '-1' }];
    return judgePage(plan, { ...state, previous: { ...previous, rows } }, page, newRows);
  },
};

/** A walk that believes in an order within a moment: it joins pages inside one, where another window would show it whole. */
export const believing: Judge = (plan, state, page, newRows) => {
  const believed = state.previous && { ...state.previous, isWithinMoment: true };
  const step = judgePage(plan, { ...state, previous: believed, strays: 0 }, page, newRows);
  const { previous, apart } = step.state;
  if (step.next === 'end' || !previous || previous.isLast || apart) return step;
  const offset = previous.window.offset + Math.max(1, previous.shown - 5);
  return { ...step, state: { ...step.state, window: { offset, limit: plan.pageSize }, strays: 0 } };
};

/** Walks that ask too much or too little of rows of one moment: they never prove a list that has many of them. */
export const mutantsOfMoments: Record<string, Judge> = {
  'wants the rows of a moment in the same order': (plan, state, page, newRows) => {
    const { previous } = state;
    const places = new Map(previous?.rows.map(({ key }, place) => [key, place]));
    const shared = page.keys.flatMap((key) => places.get(key) ?? []);
    const isInOrder = shared.every((place, index) => index === 0 || place > (shared[index - 1] ?? place));
    return judgePage(plan, state, isInOrder ? page : { ...page, keys: page.keys.map((key) => `${key}?`) }, newRows);
  },
  'keeps a hundred rows of a page': (plan, state, page, newRows) => {
    const step = judgePage(plan, state, page, newRows);
    const { previous } = step.state;
    if (step.next === 'end' || !previous) return step;
    return { ...step, state: { ...step.state, previous: { ...previous, rows: previous.rows.slice(-20) } } };
  },
};

/** Whether a walk trusts the service to keep the order of rows that are of one moment, or have no time, and it does not. */
export function isTrusting({ serving }: Run, { momentRows, isOrdered }: PassEvidence): boolean {
  return serving.moments.order === 'by answer' && (momentRows > 0 || (serving.timeless.rows > 0 && !isOrdered));
}

function outcomeOf(
  run: Run,
  { stable }: DriftingList,
  seen: ReadonlySet<string>,
  reason: string | null,
  evidence: PassEvidence,
): Omit<Outcome, 'requests'> {
  const missed = [...stable].filter((key) => !seen.has(key));
  return { reason: reason === null && isTrusting(run, evidence) ? 'trusted' : reason, missed, evidence };
}

/** Notes the rows of a page as seen, and returns how many were new. */
function takeNew({ keys }: PageView, seen: Set<string>): number {
  const before = seen.size;
  for (const key of keys) seen.add(key);
  return seen.size - before;
}
