import { describe, expect, it } from 'vitest';
import type { PageView } from '../../src/sync/seam.ts';
import { beginWalk, judgePage } from '../../src/sync/walk-plan.ts';
import type { WalkPlan } from '../../src/sync/walk-windows.ts';
import { parseWalkState, type Window } from '../../src/sync/walk-state.ts';

const rows = 1000;
const plan: WalkPlan = {
  pageSize: 100,
  widestRows: 1600,
  overlap: 'auto',
  windowsMax: 100_000,
  restartsMax: 20,
  roundsMax: 4,
};

/** What the service says about the end of its list. */
const ends = ['by the offset asked for', 'by its own offset', 'never', 'always'] as const;
const counts = ['right', 'none'] as const;

/** A service that serves no offset beyond `clamp`: 0 ignores the offset. `drift` rows are added before each answer. */
type ClampingService = {
  clamp: number;
  ends: (typeof ends)[number];
  counts: (typeof counts)[number];
  drift: number;
  isOrdered: boolean;
  /** Whether it shows nothing beyond its list, as an honest service does. */
  isEmptyBeyond: boolean;
};

/** Walks through the pure judgement, one window after the other, each state through its stored text. */
function walkClamped(service: ClampingService): { reason: string | null; requests: number; missed: number } {
  const list = Array.from({ length: rows }, (_value, index) => ({
    key: `row-${index}`,
    time: BigInt(service.isOrdered ? rows - index : (index * 7919) % rows),
  }));
  const answer = ({ offset, limit }: Window): PageView => {
    for (let added = 0; added < service.drift; added += 1)
      list.unshift({ key: `new-${list.length}`, time: BigInt(list.length + 1) });
    const isBeyond = service.isEmptyBeyond && offset >= list.length;
    const from = isBeyond ? offset : Math.min(offset, service.clamp);
    const shown = list.slice(from, from + limit);
    const isLast = {
      'by the offset asked for': offset + limit >= list.length,
      'by its own offset': from + limit >= list.length,
      never: false,
      always: offset > 0,
    }[service.ends];
    return {
      keys: shown.map(({ key }) => key),
      times: shown.map(({ time }) => time),
      received: shown.length,
      isLast,
      nextOffset: isLast || service.counts === 'none' ? null : offset + limit,
      count: service.counts === 'right' ? list.length : null,
    };
  };
  const seen = new Set<string>();
  let state = beginWalk(plan);
  for (let requests = 1; ; requests += 1) {
    const page = answer(state.window);
    const before = seen.size;
    for (const key of page.keys) seen.add(key);
    const step = judgePage(plan, state, page, seen.size - before);
    const missed = Array.from({ length: rows }, (_value, index) => `row-${index}`).filter((key) => !seen.has(key));
    if (step.next === 'end') return { reason: step.reason, requests, missed: missed.length };
    if (requests > 200) return { reason: 'endless', requests, missed: missed.length };
    const stored = parseWalkState(JSON.stringify(step.state));
    if (!stored) throw new Error('a state that cannot be read back');
    state = stored;
  }
}

const everyService = [0, 1, 95, 250, 300, 850, 899].flatMap((clamp) =>
  ends.flatMap((end) =>
    counts.flatMap((count) =>
      [0, 1].flatMap((drift) =>
        [true, false].flatMap((isOrdered) =>
          [true, false].map((isEmptyBeyond): ClampingService => ({
            clamp,
            ends: end,
            counts: count,
            drift,
            isOrdered,
            isEmptyBeyond,
          })),
        ),
      ),
    ),
  ),
);

describe('a service that ignores or clamps the offset', () => {
  it.each(everyService)('ends no pass as complete: %o', (service) => {
    const { reason, requests, missed } = walkClamped(service);
    // A window that is asked for wider may show the whole rest of the list after all.
    if (missed > 0) expect(reason).not.toBeNull();
    expect(reason).not.toBe('endless');
    expect(requests).toBeLessThan(40);
  });

  it('is told by the reason', () => {
    const ignoring = {
      clamp: 0,
      ends: 'never',
      counts: 'none',
      drift: 0,
      isOrdered: true,
      isEmptyBeyond: false,
    } as const;
    expect(walkClamped(ignoring)).toMatchObject({ reason: 'no_progress', requests: 6 });
  });

  it.each(ends.filter((end) => end !== 'never' && end !== 'always'))(
    'costs an honest service one window, to confirm the end that it tells %s',
    (end) => {
      const honest = {
        clamp: rows,
        ends: end,
        counts: 'right',
        drift: 0,
        isOrdered: true,
        isEmptyBeyond: false,
      } as const;
      expect(walkClamped(honest)).toEqual({ reason: null, requests: 12, missed: 0 });
    },
  );
});
