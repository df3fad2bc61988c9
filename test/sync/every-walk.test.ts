import { describe, expect, it } from 'vitest';
import { judgePage } from '../../src/sync/walk-plan.ts';
import { everyWalk, type Judge, type Serving, type SmallWorld } from './every-walk.ts';

const servings: readonly Serving[] = ['count and next', 'next', 'has_next'];
const smallWorlds = servings.flatMap((serving) =>
  ([1, 2] as const).flatMap((inFlightMax) =>
    [3, 4, 5].map((rows): SmallWorld => ({ rows, changesMax: 2, inFlightMax, serving })),
  ),
);

/** Small worlds in which rows share a moment, two by two or three by three, in one order or in another at each answer. */
const tiedWorlds = [2, 3].flatMap((momentRows) =>
  (['turned', 'by answer'] as const).flatMap((order) =>
    ([1, 2] as const).flatMap((inFlightMax) =>
      [4, 5].map((rows): SmallWorld => ({ rows, changesMax: 1, inFlightMax, serving: 'has_next', momentRows, order })),
    ),
  ),
);

/** Small worlds with a row that has no time: the newest, one between, the oldest. */
const untimedWorlds = [0, 2, 4].flatMap((untimed) =>
  ([1, 2] as const).map((inFlightMax): SmallWorld => ({
    rows: 5,
    changesMax: 2,
    inFlightMax,
    serving: 'next',
    untimed,
  })),
);

/** A wide window in which another offset was served, as at its end: only as wide a window shows that rows follow. */
const wideEnd: SmallWorld = { rows: 7, changesMax: 2, inFlightMax: 1, serving: 'has_next', momentRows: 2 };

/** Lists of one moment, of which no window shows all rows: the service keeps their order, and shows pages in another. */
const largeMoments = ([1, 2] as const).flatMap((inFlightMax) =>
  [5, 6, 7].map((rows): SmallWorld => ({
    rows,
    changesMax: 1,
    inFlightMax,
    serving: 'next',
    momentRows: rows,
    widestRows: 3,
  })),
);

/** A list of two and a half pages of six, in which a row can move further than two windows reach together. */
const widerPages = { rows: 14, changesMax: 1, inFlightMax: 2, serving: 'has_next', pageSize: 6 } as const;

/** Walks that make one mistake each: every one of them must be seen to miss a row. */
const wrongJudges: Record<string, Judge> = {
  'takes the end that the service tells': (plan, state, page, newRows) => {
    const step = judgePage(plan, state, page, newRows);
    const isAccepted = step.next === 'window' && step.state.previous?.isLast === true && step.state.apart === null;
    return isAccepted ? { next: 'end', state: step.state, reason: null } : step;
  },
  'joins pages by one row, whatever its time': (plan, state, page, newRows) => {
    const { previous } = state;
    const shared = previous?.rows.findIndex(({ key }) => page.keys.includes(key)) ?? -1;
    const row = previous?.rows[shared];
    if (!previous || !row || previous.isLast) return judgePage(plan, state, page, newRows);
    const place = page.keys.indexOf(row.key);
    const twin = page.keys[place + 1] ?? page.keys[place - 1] ?? row.key;
    const ofPage = (key: string): { key: string; time: string | null } => ({
      key,
      time: page.times[page.keys.indexOf(key)]?.toString() ?? row.time,
    });
    const rows = [ofPage(row.key), ofPage(twin), { key: 'the end', time: '-1' }];
    return judgePage(plan, { ...state, previous: { ...previous, rows } }, page, newRows);
  },
};

describe('every walk over a small list', () => {
  it.each([
    // An only page without one of the rows that it counts proves nothing.
    ...smallWorlds.map(
      (world) => [world, world.rows === 3 && world.serving === 'count and next' ? 0.75 : 0.9] as const,
    ),
    ...[...tiedWorlds, wideEnd].map((world) => [world, 0.95] as const),
    ...largeMoments.map((world) => [world, 0.8] as const),
    // A window that shows this row alone has no order.
    ...untimedWorlds.map((world) => [world, 0.25] as const),
  ])('that says complete has seen every row that was there throughout: %o; more than %d of all do', (world, share) => {
    const { missing, complete, walks, reasons } = everyWalk(world);
    expect(missing).toBeUndefined();
    // A walk that never dares to say complete would pass the above.
    expect(complete).toBeGreaterThan(walks * share);
    if (largeMoments.includes(world)) expect(Object.keys(reasons)).not.toContain('no_progress');
  });

  it('with pages of six rows, too', () => {
    expect(everyWalk(widerPages)).toMatchObject({ missing: undefined, wrong: 0 });
  });

  it('is caught where windows are answered in another order than they are asked for', () => {
    const { missing } = everyWalk({ ...widerPages, isAnyOrder: true });
    expect(missing).toContain('missed');
  });

  it.each(Object.entries(wrongJudges))('is caught when it %s', (_name, judge) => {
    const worlds: SmallWorld[] = [
      { rows: 5, changesMax: 1, inFlightMax: 1, serving: 'next' },
      { ...widerPages, rows: 12, changesMax: 2, inFlightMax: 1 },
    ];
    expect(worlds.some((world) => everyWalk({ ...world, judge, isSearch: true }).wrong > 0)).toBe(true);
  });
});
