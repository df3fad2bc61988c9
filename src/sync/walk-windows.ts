import { countTied, type PageView } from './seam.ts';
import type { WalkState, Window } from './walk-state.ts';

/** No service serves fewer rows than these at the most. */
export const cutMin = 50;

/** How a list is walked. */
export type WalkPlan = {
  /** Rows asked for at once; a service may serve fewer, and then fewer are asked for. */
  pageSize: number;
  /** The most rows asked for at once, where a page does not reach far enough. */
  widestRows: number;
  /** How many rows a window shares with the page before it; `auto` is 2 % of a page, at least 5. 0 proves nothing. */
  overlap: number | 'auto';
  windowsMax: number;
  /** How often the walk may return to the beginning of the list. From its first pages it may return more often. */
  restartsMax: number;
  /** How often a list that is not newest first is walked, until a round brings no new row. */
  roundsMax: number;
};

/** The least rows of a window. */
const limitMin = 20;

/** The rows that two pages share: as given, or 2 % and at least 5; never more than half of a page. */
export function overlapOf(overlap: number | 'auto', pageSize: number): number {
  const rows = overlap === 'auto' ? Math.max(5, Math.ceil(pageSize * 0.02)) : overlap;
  return Math.min(rows, Math.max(2, Math.floor(pageSize / 2)));
}

/**
 * The windows to request at once: the state's own, and those that follow if each page is whole and joined. A walk's first
 * window goes alone, because its page tells how many rows the service serves. No window is requested ahead beyond the
 * service's count, or while the walk looks for a seam.
 */
export function windowsAhead(plan: WalkPlan, state: WalkState, most: number): Window[] {
  const windows = [state.window];
  const { previous } = state;
  if (previous === null || previous.isLast || state.apart !== null) return windows;
  // How far the window goes back after the next page depends on that page.
  if (!previous.isWithinMoment && previous.momentRows >= overlapOf(plan.overlap, state.limit)) return windows;
  const end = state.evidence.countReported ?? Number.POSITIVE_INFINITY;
  let last = state.window;
  while (windows.length < most && last.offset + mayServe(state, last.limit) < end) {
    last = windowAfter(plan, state, last, mayServe(state, last.limit));
    windows.push(last);
  }
  return windows;
}

/**
 * Halves the window of a service that fails on large or deep windows; undefined where it is the smallest. One that fails as soon as it
 * has grown again grows no more: each such failure takes all the tries of a call.
 */
export function shrinkWindow(plan: WalkPlan, state: WalkState): WalkState | undefined {
  const limit = Math.max(limitMin, Math.floor(state.window.limit / 2));
  if (limit >= state.window.limit) return undefined;
  const window = { ...state.window, limit };
  const { windows } = state.evidence;
  const hasGrown = windows > 0 && windows % regrowAfter === 0 && state.cap === null;
  const cap = hasGrown || state.window.limit > state.limit ? limit : state.cap;
  return { ...state, window, cap, limit: Math.min(limit, state.limit), stepBackRows: overlapOf(plan.overlap, limit) };
}

/**
 * Every hundredth window, twice the rows are asked for again, up to what the plan says and the service serves, where a failure had
 * halved the windows: it may have been of that moment, and small windows make a large list last for days.
 */
export function regrowWindow(plan: WalkPlan, state: WalkState): WalkState {
  if (state.evidence.windows % regrowAfter !== 0) return state;
  return {
    ...state,
    limit: Math.max(state.limit, Math.min(2 * state.limit, plan.pageSize, state.cap ?? plan.pageSize)),
  };
}

const regrowAfter = 100;

/** How many positions of the list a window of `limit` rows covers, judged by the longest page. */
export function mayServe({ longest }: WalkState, limit: number): number {
  return Math.min(limit, longest ?? limit);
}

/** The next window begins `overlap` positions before the covered end, and always ends after this window. */
export function windowAfter(plan: WalkPlan, state: WalkState, window: Window, covered: number): Window {
  const advance = Math.max(1, covered - overlapOf(plan.overlap, mayServe(state, state.limit)));
  return { offset: window.offset + advance, limit: Math.max(state.limit, window.limit - advance) };
}

/**
 * The window after a page of a list that is newest first. It begins some rows above the moment in which the page ends, so that its page shows
 * this moment whole: a moment's rows may stand in another order at each answer. Where the moment takes most of a page, the
 * window is twice as wide. Undefined where it fits into no window, or where nothing above it was shown.
 */
export function windowAroundMoment(
  plan: WalkPlan,
  state: WalkState,
  served: Window,
  { times }: PageView,
): Window | undefined {
  const tied = countTied(times);
  const widest = state.cap ?? plan.widestRows;
  const isShownWhole = tied < times.length || served.offset === 0;
  if (!isShownWhole || tied > momentRowsMax(widest) || state.stalls >= momentTriesMax) return undefined;
  const offset = served.offset + Math.max(0, times.length - tied - overlapOf(plan.overlap, state.limit));
  // Where places show no row, the moment may begin so many places further down.
  const empty = Math.max(0, served.limit - times.length);
  const limit = Math.min(widest, Math.max(state.limit, 2 * (tied + 1) + empty));
  return offset + limit > served.offset + served.limit ? { offset, limit } : undefined;
}

/** The most rows of a window: sixteen pages, and at pages of a few rows still so many that most imports fit. */
export function widestRowsOf(pageSize: number): number {
  return Math.max(16 * pageSize, 10_000);
}

/** The most rows of a moment that a window of so many rows shows whole, with room for what follows. */
export function momentRowsMax(rows: number): number {
  return Math.floor((rows * 3) / 4) - 1;
}

/** So many windows around a moment may lead no further: a service may serve fewer rows than asked for, without a word. */
const momentTriesMax = 3;
