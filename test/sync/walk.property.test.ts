import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { beginWalk, judgePage } from '../../src/sync/walk-plan.ts';
import { parseWalkState, type WalkState } from '../../src/sync/walk-state.ts';
import { DriftingList, plainServing } from './drifting-list.ts';
import { anyRun, isTrusting, mutants, planOf, walkBy, walkDrifting } from './walk-model.ts';

describe('a walk over a list that changes while it is paged', () => {
  it('has seen every row that was there throughout, whenever it says complete, and always ends', async () => {
    let complete = 0;
    await fc.assert(
      fc.asyncProperty(anyRun, async (run) => {
        const { reason, missed } = await walkDrifting(run);
        expect(reason).not.toBe('windows_limit');
        if (reason !== null) return;
        complete += 1;
        expect(missed).toEqual([]);
      }),
      { numRuns: 1000 },
    );
    // A walk that never dares to say complete would pass the above.
    expect(complete).toBeGreaterThan(700);
  });

  it.each(Object.entries(mutants))('is caught when it is wrong: %s', (_name, judge) => {
    const property = fc.property(anyRun, (run) => {
      const { reason, missed } = walkBy(run, judge);
      expect(reason).not.toBe('windows_limit');
      if (reason === null) expect(missed).toEqual([]);
    });
    expect(fc.check(property, { numRuns: 5000 }).failed).toBe(true);
  });

  it('is not caught by the same property when it is right', () => {
    fc.assert(
      fc.property(anyRun, (run) => {
        const { reason, missed } = walkBy(run, judgePage);
        expect(reason).not.toBe('windows_limit');
        if (reason === null) expect(missed).toEqual([]);
      }),
      { numRuns: 5000 },
    );
  });

  it('asks for no more than the overlaps cost, where the list does not move', async () => {
    await fc.assert(
      fc.asyncProperty(anyRun, async (run) => {
        const moments = { rows: 1, oldest: 0, order: 'kept' } as const;
        const serving = { ...plainServing, cap: 1000, count: 'right', moments } as const;
        const { reason, requests } = await walkDrifting({ ...run, serving, events: [] });
        expect(reason).toBeNull();
        const further = Math.ceil(Math.max(0, run.size - run.pageSize) / (run.pageSize - run.overlap));
        // One more window confirms the end of a list that is longer than a page.
        expect(requests).toBe(1 + further + (further > 0 ? 1 : 0));
      }),
      { numRuns: 200 },
    );
  });

  it('goes on from any page where it was stopped, through the text that it is stored as', () => {
    fc.assert(
      fc.property(anyRun, fc.nat({ max: 20 }), (run, stopAfter) => {
        const list = new DriftingList(run.size, run.serving);
        const seen = new Set<string>();
        let state: WalkState = beginWalk(planOf(run));
        for (let windows = 0; ; windows += 1) {
          const page = list.page(state.window);
          const before = seen.size;
          for (const key of page.keys) seen.add(key);
          const step = judgePage(planOf(run), state, page, seen.size - before);
          if (step.next === 'end') {
            if (step.reason === null && !isTrusting(run, step.state.evidence))
              expect([...list.stable].filter((key) => !seen.has(key))).toEqual([]);
            return;
          }
          const stored = parseWalkState(JSON.stringify(step.state));
          if (!stored) throw new Error('a state cannot be read back');
          state = stored;
          // Everything happens while the program is stopped.
          if (windows === stopAfter) for (const { drift } of run.events) list.apply(drift);
        }
      }),
      { numRuns: 500 },
    );
  });
});
