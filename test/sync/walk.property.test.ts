import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { walk } from '../../src/sync/walk.ts';
import { beginWalk, judgePage, type WalkPlan, type WalkState } from '../../src/sync/walk-plan.ts';
import { DriftingList, type Drift } from './drifting-list.ts';

type Run = { size: number; pageSize: number; overlap: number; drifts: Drift[] };
type Outcome = { reason: string | null; missed: string[]; windows: number };

const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const drift = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), at: fraction }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('burst' as const),
      at: fraction,
      count: fc.integer({ min: 2, max: 60 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('create' as const), count: fc.integer({ min: 1, max: 15 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('merge' as const), loser: fraction, survivor: fraction }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'quiet' as const }) },
);
const run: fc.Arbitrary<Run> = fc.record({
  size: fc.integer({ min: 0, max: 400 }),
  pageSize: fc.integer({ min: 10, max: 60 }),
  overlap: fc.integer({ min: 2, max: 8 }),
  drifts: fc.array(drift, { maxLength: 60 }),
});

const plan = ({ pageSize, overlap }: Run): WalkPlan => ({
  pageSize,
  overlap,
  windowsMax: 2000,
  restartsMax: 20,
});

/** Walks a list that drifts once before every request but the first, through the program's own walk. */
async function walkDrifting(run: Run): Promise<Outcome> {
  const list = new DriftingList(run.size);
  const drifts = run.drifts.values();
  const seen = new Set<string>();
  let windows = 0;
  const reason = await walk(
    {
      plan: plan(run),
      fetchPage: (window) => {
        const next = windows === 0 ? undefined : drifts.next().value;
        if (next) list.apply(next);
        windows += 1;
        return Promise.resolve({ rows: [], quarantined: [], view: list.page(window) });
      },
      commitPage: ({ view }) => {
        for (const key of view.keys) seen.add(key);
        return { received: view.keys.length, added: 0, changed: 0, quarantined: 0, unchangedRun: 0 };
      },
      unchangedRowsMax: null,
      onProgress: () => undefined,
      signal: new AbortController().signal,
    },
    beginWalk(plan(run)),
  );
  return { reason, missed: [...list.stable].filter((key) => !seen.has(key)), windows };
}

/** Walks as plain offset paging does: by page size, without looking back. */
function walkPlainly(run: Run): Outcome {
  const list = new DriftingList(run.size);
  const drifts = run.drifts.values();
  const seen = new Set<string>();
  let windows = 0;
  for (let offset = 0; ; offset += run.pageSize) {
    const next = windows === 0 ? undefined : drifts.next().value;
    if (next) list.apply(next);
    windows += 1;
    const page = list.page({ offset, limit: run.pageSize });
    for (const key of page.keys) seen.add(key);
    if (page.isLast)
      return { reason: null, missed: [...list.stable].filter((key) => !seen.has(key)), windows };
  }
}

describe('a walk over a list that changes while it is paged', () => {
  it('has seen every row that was there throughout, whenever it says complete, and always ends', async () => {
    let complete = 0;
    await fc.assert(
      fc.asyncProperty(run, async (input) => {
        const { reason, missed } = await walkDrifting(input);
        if (reason === null) {
          complete += 1;
          expect(missed).toEqual([]);
        }
      }),
      { numRuns: 1500 },
    );
    // A walk that never dares to say complete would pass the above.
    expect(complete).toBeGreaterThan(1400);
  });

  it('plain offset paging misses rows under the same changes', async () => {
    await expect(
      fc.assert(
        fc.asyncProperty(run, async (input) => {
          await Promise.resolve();
          expect(walkPlainly(input).missed).toEqual([]);
        }),
        { numRuns: 1500 },
      ),
    ).rejects.toThrow(/Property failed/);
  });

  it('needs a step back only where the list moved', async () => {
    await fc.assert(
      fc.asyncProperty(run, async (input) => {
        const { reason, windows } = await walkDrifting({ ...input, drifts: [] });
        const advance = input.pageSize - input.overlap;
        expect(reason).toBeNull();
        expect(windows).toBe(Math.max(1, 1 + Math.ceil(Math.max(0, input.size - input.pageSize) / advance)));
      }),
      { numRuns: 300 },
    );
  });

  it('goes on from any page where it was stopped, through the text it is stored as', () => {
    fc.assert(
      fc.property(run, fc.nat({ max: 20 }), (input, stopAfter) => {
        const list = new DriftingList(input.size);
        const seen = new Set<string>();
        let state: WalkState = beginWalk(plan(input));
        for (let windows = 0; ; windows += 1) {
          const page = list.page(state.window);
          for (const key of page.keys) seen.add(key);
          const step = judgePage(plan(input), state, page);
          if (step.next === 'end') {
            if (step.reason === null) expect([...list.stable].filter((key) => !seen.has(key))).toEqual([]);
            return;
          }
          state = JSON.parse(JSON.stringify(step.state)) as WalkState;
          // Everything happens while the program is stopped.
          if (windows === stopAfter) for (const change of input.drifts) list.apply(change);
        }
      }),
      { numRuns: 500 },
    );
  });
});
