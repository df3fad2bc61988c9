import { describe, expect, it } from 'vitest';
import { beginWalk, judgePage as judge, type WalkStep } from '../../src/sync/walk-plan.ts';
import { overlapOf, shrinkWindow, windowsAhead, type WalkPlan } from '../../src/sync/walk-windows.ts';
import type { PageView } from '../../src/sync/seam.ts';
import type { WalkState } from '../../src/sync/walk-state.ts';

const plan: WalkPlan = { pageSize: 10, widestRows: 160, overlap: 3, windowsMax: 100, restartsMax: 2, roundsMax: 3 };

const judgePage = (by: WalkPlan, state: WalkState, view: PageView, newRows = view.keys.length): WalkStep =>
  judge(by, state, view, newRows);

/** A page of rows known by one letter each; the times fall by one unless given. */
function page(
  keys: string,
  {
    last = false,
    times,
    nextOffset = null,
    count = null,
  }: Partial<{ last: boolean; times: number[]; nextOffset: number | null; count: number | null }> = {},
): PageView {
  return {
    keys: [...keys],
    times: times ? times.map(BigInt) : [...keys].map((key) => BigInt(1000 - (key.codePointAt(0) ?? 0))),
    received: keys.length,
    isLast: last,
    nextOffset,
    count,
  };
}

function judged(from: WalkState, view: PageView, by = plan, newRows = view.keys.length): WalkState {
  const step = judgePage(by, from, view, newRows);
  expect(step.next).toBe('window');
  return step.state;
}

/** Walks a list of that many rows, each request of which gets as many of them as `served` says. */
function walkWhole(
  by: WalkPlan,
  count: number,
  isNextTold: boolean,
  served = (limit: number, _request: number) => limit,
  from = beginWalk(by),
) {
  let step: WalkStep = { next: 'window', state: from };
  let requests = 0;
  for (; step.next === 'window'; requests += 1) {
    const { offset, limit } = step.state.window;
    const end = Math.min(count, offset + served(limit, requests));
    const places = Array.from({ length: Math.max(0, end - offset) }, (_row, index) => offset + index);
    const isLast = end === count;
    step = judgePage(by, step.state, {
      keys: places.map(String),
      times: places.map((place) => BigInt(-place)),
      received: places.length,
      isLast,
      nextOffset: isNextTold && !isLast ? end : null,
      count: null,
    });
  }
  return { step, requests };
}

describe('overlapOf', () => {
  it.each([
    ['auto', 1000, 20],
    ['auto', 100, 5],
    ['auto', 260, 6],
    [7, 100, 7],
    [0, 100, 0],
    ['auto', 8, 4],
    [50, 20, 10],
    [50, 3, 2],
  ] as const)('%s at pages of %i is %i', (overlap, pageSize, rows) => {
    expect(overlapOf(overlap, pageSize)).toBe(rows);
  });
});

describe('judgePage', () => {
  it('keeps no more of a page than its last hundred keys, whatever a service calls its rows', () => {
    // The longest key that is read, of characters that JSON writes as six.
    const keys = Array.from({ length: 1000 }, (_, n) => String(n).padStart(1000, '\u0001'));
    const view = { ...page(''), keys, times: keys.map((_, n) => BigInt(-n)), received: 1000 };
    const large = { ...plan, pageSize: 1000 };
    expect(JSON.stringify(judged(beginWalk(large), view, large)).length).toBeLessThan(610_000);
  });

  const second = judged(beginWalk(plan), page('abcdefghij'));

  it('begins the next window before the end of the window', () => {
    expect(second.window).toEqual({ offset: 7, limit: 10 });
  });

  it('advances by the window, never by the rows of a short page', () => {
    expect(judged(beginWalk(plan), page('abc', { nextOffset: 10 })).window.offset).toBe(7);
  });

  it('advances by what the service serves when it clamps the limit', () => {
    expect(judged(beginWalk(plan), page('abcdef', { nextOffset: 6 })).window.offset).toBe(3);
  });

  it('advances by the longest page, and asks for as much as before, when only lengths tell what is served', () => {
    const wide = { ...plan, pageSize: 100 };
    let state = judged(beginWalk(wide), page('abcdef'), wide);
    expect(state).toMatchObject({ window: { offset: 3, limit: 100 }, cap: null });
    state = judged(state, page('defg'), wide);
    expect(state.window).toEqual({ offset: 6, limit: 100 });
    state = judged(state, page('fghijklmnop'), wide);
    expect(state.window).toEqual({ offset: 6 + 11 - 3, limit: 100 });
  });

  it.each([true, false])('asks for as many rows as before some hundred windows after a failure (%s)', (isNextTold) => {
    const by = { ...plan, pageSize: 80, overlap: 5, windowsMax: 5000 };
    const shrunk = [1, 2].reduce((state) => shrinkWindow(by, state) ?? state, beginWalk(by));
    const limits: number[] = [];
    const served = (limit: number): number => limits.push(limit) && limit;
    const { step } = walkWhole(by, 40_000, isNextTold, served, shrunk);
    expect(step).toMatchObject({ next: 'end', reason: null });
    expect([20, 40].map((limit) => limits.filter((each) => each === limit).length)).toEqual([100, 100]);
    expect(limits.at(-1)).toBe(80);
    const capped = walkWhole(by, 40_000, true, (limit) => Math.min(limit, 30), { ...shrunk, cap: 30 });
    expect(capped.step.state.limit).toBe(30);
  });

  it('asks for more again once only where the service fails at more', () => {
    const by = { ...plan, pageSize: 80, overlap: 5, windowsMax: 5000 };
    let state = beginWalk(by);
    let reason: string | null = 'windows_limit';
    let failures = 0;
    while (reason === 'windows_limit') {
      const isTooMuch = state.window.offset > 0 && state.window.limit > 30;
      failures += Number(isTooMuch);
      const smaller = isTooMuch ? shrinkWindow(by, state) : undefined;
      const one = { ...by, windowsMax: state.evidence.windows + 1 };
      if (smaller) state = smaller;
      else {
        const { step } = walkWhole(one, 40_000, true, undefined, state);
        ({ state, reason } = step);
      }
    }
    expect(reason).toBeNull();
    // From 80 to 40, to 20, and from 40 to 20 when it has grown.
    expect(failures).toBe(3);
  });

  it('has as many windows in flight as lengths have told that there are', () => {
    const wide = { ...plan, pageSize: 100 };
    const state = judged(beginWalk(wide), page('abcdef', { count: 14 }), wide);
    expect(windowsAhead(wide, state, 8).map(({ offset }) => offset)).toEqual([3, 6, 9]);
  });

  it.each([
    ['whole', 1000, 1000, 32],
    ['short', 40, 1000, 33],
    ['of one row', 1, 1000, 35],
    ['as long as all others', 100, 100, 317],
  ])(
    'walks a list whose lengths alone tell what is served, when its first page is %s',
    (_what, firstRows, cap, requestsMax) => {
      const large = { ...plan, pageSize: 1000, widestRows: 16_000, overlap: 'auto' as const, windowsMax: 1000 };
      const { step, requests } = walkWhole(large, 30_000, false, (limit, request) =>
        Math.min(limit, request === 0 ? firstRows : cap),
      );
      expect(step).toMatchObject({ next: 'end', reason: null });
      expect(requests).toBeLessThanOrEqual(requestsMax);
    },
  );

  it.each([
    [10_000, 'auto'],
    [1000, 300],
  ] as const)('confirms the end of a list with pages of %i rows and an overlap of %s', (pageSize, overlap) => {
    const large = { ...plan, pageSize, widestRows: 16 * pageSize, overlap, windowsMax: 1000 };
    expect(walkWhole(large, 25_000, true).step).toMatchObject({ next: 'end', reason: null });
  });

  it('joins a page that shares two rows in order', () => {
    expect(judged(second, page('hijklmnopq')).evidence).toMatchObject({ seams: 1, stepBacks: 0 });
    expect(judged(second, page('ijklmnopqr')).evidence.seams).toBe(1);
  });

  it.each([
    ['no shared row', 'klmnopqrst'],
    ['one shared row', 'jklmnopqrs'],
    ['two shared rows in the other order', 'jiklmnopqr'],
  ])('steps back from a page with %s', (_what, keys) => {
    const stepped = judged(second, page(keys));
    expect(stepped.window).toEqual({ offset: 4, limit: 10 });
    expect(stepped.evidence).toMatchObject({ seams: 0, stepBacks: 1 });
  });

  it('does not join by rows that a page begins after, in a list that is newest first', () => {
    // The list moved: x and y were below the last page, and a and b were merged to an older place among them.
    const times = [1, 0, -1, -2];
    const apart = judged(second, page('ijxy', { times }));
    expect(apart.evidence).toMatchObject({ seams: 0, stepBacks: 1 });
  });

  it('joins by rows alone once the list is not newest first', () => {
    const rising = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    const unordered = judged(beginWalk(plan), page('abcdefghij', { times: rising }));
    expect(unordered.evidence.isOrdered).toBe(false);
    expect(judged(unordered, page('ijxy', { times: [1, 0, -1, -2] })).evidence.seams).toBe(1);
  });

  it('walks a list that is not newest first until a round brings no new row', () => {
    const rising = (keys: string): PageView => page(keys, { times: [...keys].map((_key, index) => index), last: true });
    let state = judged(beginWalk(plan), rising('abc'), plan, 3);
    expect(state).toMatchObject({ window: { offset: 0 }, previous: null, newRows: 0, evidence: { rounds: 2 } });
    state = judged(state, rising('bca'), plan, 1);
    expect(state.evidence.rounds).toBe(3);
    expect(judgePage(plan, state, rising('abc'), 0)).toMatchObject({ next: 'end', reason: null });
    expect(judgePage(plan, state, rising('abd'), 1)).toMatchObject({ next: 'end', reason: 'order_unstable' });
  });

  it('begins the next window above the moment in which a page ends, whose rows may change places', () => {
    const times = [9, 8, 7, 6, 5, 4, 3, 2, 2, 2];
    const first = judged(beginWalk(plan), page('abcdefghij', { times }));
    expect(first.window).toEqual({ offset: 4, limit: 10 });
    const next = judged(first, page('efgjihklmn', { times: [5, 4, 3, 2, 2, 2, 1, 1, 1, 1] }));
    expect(next.evidence).toMatchObject({ isOrdered: true, seams: 1, stepBacks: 0 });
    // A page that begins in that moment may have lost one of its rows.
    expect(judged(first, page('hjiklmn', { times: [2, 2, 2, 1, 1, 1, 1] })).evidence.stepBacks).toBe(1);
  });

  it('steps back twice as far each time, and then begins the list anew', () => {
    let state = judged(second, page('hijklmnopq'));
    expect(state.window.offset).toBe(14);
    const offsets = [];
    for (let step = 0; step < 3; step += 1) {
      state = judged(state, page('stuvwxyz'));
      offsets.push(state.window.offset);
    }
    expect(offsets).toEqual([11, 5, 0]);
    const anew = judged(state, page('stuvwxyz'));
    expect(anew).toMatchObject({ window: { offset: 7 }, hasGap: false, stepBackRows: 3, evidence: { restarts: 1 } });
  });

  it('when stepping back, is content with a page that begins above the end of the last one', () => {
    const apart = judged(second, page('klmnopqrst'));
    expect(apart.evidence.stepBacks).toBe(1);
    // The last page's end has been deleted: two of its rows are never to be seen again.
    expect(judged(apart, page('iklmnopqrs')).evidence.seams).toBe(1);
    expect(judged(apart, page('jklmnopqrs')).evidence).toMatchObject({ seams: 0, stepBacks: 2 });
  });

  it('goes on over a gap from where it was, once it may not begin anew again, and then is not complete', () => {
    const spent: WalkState = { ...second, evidence: { ...second.evidence, restarts: plan.restartsMax + 50 } };
    let state = judged(spent, page('stuvwxyz'));
    expect(state).toMatchObject({ window: { offset: 4 }, apart: { offset: 7 }, hasGivenUp: 'no' });
    state = judged(state, page('stuvwxyz'));
    expect(state).toMatchObject({ window: { offset: 7 }, hasGivenUp: 'this seam' });
    state = judged(state, page('stuvwxyz'));
    expect(state).toMatchObject({ window: { offset: 14 }, apart: null, hasGivenUp: 'no', hasGap: true });
    expect(judgePage(plan, state, page('yz', { last: true }))).toMatchObject({
      next: 'end',
      reason: 'seam_not_joined',
    });
  });

  it('asks for a wider page where the last one ended in positions that show no row', () => {
    const barren = judged(second, page('hij'));
    expect(barren).toMatchObject({ previous: { isBarren: true }, hasGap: false, window: { offset: 14, limit: 10 } });
    let state = judged(barren, page(''));
    expect(state.window).toEqual({ offset: 7, limit: 160 });
    state = judged(state, page('hijqrs', { nextOffset: 107 }));
    expect(state).toMatchObject({ window: { offset: 104, limit: 10 }, cap: 100, hasGap: false, apart: null });
    expect(judged(state, page('rstuvw')).evidence).toMatchObject({ seams: 3, stepBacks: 1 });
  });

  it('reaches beyond the end of a wider page that lengths do not tell to be covered', () => {
    const barren = judged(judged(second, page('hij')), page(''));
    const state = judged(barren, page('hijqrs'));
    expect(state.window).toEqual({ offset: 14, limit: 153 });
    expect(judged(state, page('qrstuvwxyz')).evidence).toMatchObject({ seams: 3, stepBacks: 1 });
  });

  it('goes on over a gap where the service serves no wider page', () => {
    const capped: WalkState = { ...judged(second, page('hij')), cap: 10 };
    let state = judged(capped, page(''));
    expect(state).toMatchObject({ window: { offset: 14, limit: 10 }, hasGivenUp: 'this seam' });
    state = judged(state, page(''));
    expect(state).toMatchObject({ window: { offset: 21 }, hasGap: true, previous: { isBarren: true } });
    state = judged(state, page('qrstuvwxyz'));
    expect(state).toMatchObject({ window: { offset: 21 }, hasGivenUp: 'this seam' });
    state = judged(state, page('qrstuvwxyz'));
    expect(judged(state, page('yzABCD')).evidence).toMatchObject({ seams: 2 });
  });

  it('is complete at the end of the list when every seam was joined', () => {
    const last = judged(second, page('hijklmnopq', { last: true }));
    expect(last.window).toEqual({ offset: 14, limit: 10 });
    expect(judgePage(plan, last, page('opq', { last: true }))).toMatchObject({ next: 'end', reason: null });
  });

  it('asks on where the first page is full, though it says that nothing follows and has no count', () => {
    const state = judged(beginWalk(plan), page('abcdefghij', { last: true }));
    expect(state.window).toEqual({ offset: 7, limit: 10 });
    expect(judgePage(plan, state, page('hij', { last: true }), 0)).toMatchObject({ next: 'end', reason: null });
    expect(judgePage(plan, state, page('hijklmnopq'), 7)).toMatchObject({ next: 'window', state: { hasGap: false } });
    const counted = page('abcdefghij', { last: true, count: 10 });
    expect(judgePage(plan, beginWalk(plan), counted)).toMatchObject({ next: 'end', reason: null });
  });

  it('asks on where a service cuts the page that was asked for, and says that nothing follows', () => {
    const wide = { ...plan, pageSize: 1000, overlap: 20 };
    const shown = (from: number, rows: number): PageView => {
      const places = Array.from({ length: rows }, (_row, index) => from + index);
      return {
        ...page('', { last: true }),
        received: rows,
        keys: places.map(String),
        times: places.map((at) => BigInt(-at)),
      };
    };
    const cut = judged(beginWalk(wide), shown(0, 100), wide);
    expect(cut.window).toEqual({ offset: 80, limit: 1000 });
    expect(judgePage(wide, cut, shown(80, 20), 0)).toMatchObject({ next: 'end', reason: null });
    expect(judgePage(wide, cut, shown(80, 100), 80)).toMatchObject({ next: 'window', state: { hasGap: false } });
    // No service serves so few.
    expect(judgePage(wide, beginWalk(wide), shown(0, 49))).toMatchObject({ next: 'end', reason: null });
  });

  it.each(['', 'a', 'abcdefghi'])('is complete after the only page of a list (%s)', (keys) => {
    expect(judgePage(plan, beginWalk(plan), page(keys, { last: true }))).toMatchObject({ next: 'end', reason: null });
  });

  it.each([
    ['the same page again', 'hijklmnopq'],
    ['further rows', 'opqrst'],
    ['nothing', ''],
    ['other rows', 'abc'],
    ['its end, without the last row', 'op'],
  ])('goes on where the window after the last page shows %s', (_what, keys) => {
    const last = judged(second, page('hijklmnopq', { last: true }));
    expect(judgePage(plan, last, page(keys, { last: true })).next).toBe('window');
  });

  it('goes on where a row of the last page has moved to the end of the list', () => {
    const last = judged(second, page('hijklmnopq', { last: true }));
    const moved = page('opq', { last: true, times: [889, 888, 1] });
    expect(judgePage(plan, last, moved).next).toBe('window');
  });

  it('is not complete where the service counts far more rows than it has shown', () => {
    const last = judged(second, page('hijklmnopq', { last: true, count: 1000 }));
    expect(judgePage(plan, last, page('opq', { last: true }), 0)).toMatchObject({
      next: 'end',
      reason: 'count_not_reached',
    });
  });

  it.each([
    ['', 5, 'count_not_reached'],
    ['abcdefg', 8, 'count_not_reached'],
    ['abcdefg', 7, null],
    ['abcdefg', null, null],
  ])('on its only page shows %j of %s counted, which is of one moment: %s', (keys, count, reason) => {
    const only = page(keys, { last: true, count });
    expect(judgePage(plan, beginWalk(plan), only, keys.length)).toMatchObject({ next: 'end', reason });
  });

  it('is not complete at an end that does not join', () => {
    expect(judgePage(plan, second, page('', { last: true }))).toMatchObject({
      next: 'window',
      state: { window: { offset: 4 } },
    });
  });

  it('proves nothing without an overlap', () => {
    const plain = { ...plan, overlap: 0 };
    const state = judged(beginWalk(plain), page('abcdefghij'), plain);
    expect(state.window.offset).toBe(10);
    expect(judgePage(plain, state, page('k', { last: true }))).toMatchObject({
      next: 'end',
      reason: 'seam_not_joined',
    });
    expect(judgePage(plain, beginWalk(plain), page('a', { last: true }))).toMatchObject({ reason: 'seam_not_joined' });
  });

  it('ends a list that never ends', () => {
    const state: WalkState = { ...second, evidence: { ...second.evidence, windows: plan.windowsMax - 1 } };
    expect(judgePage(plan, state, page('hijklmnopq'))).toMatchObject({ next: 'end', reason: 'windows_limit' });
  });

  it('remembers the count that the service last gave', () => {
    const state = judged(second, page('hijklmnopq', { count: 12 }));
    expect(judged(state, page('opqrstuvwx')).evidence.countReported).toBe(12);
  });
});
