import { noEvidence, type IncompleteReason, type PassEvidence } from '../mirror/passes.ts';

/** What is asked of a list at once. */
export type Window = { offset: number; limit: number };

/** How a list is walked. */
export type WalkPlan = {
  /** Rows asked for at once; a service may serve fewer, and then fewer are asked for. */
  pageSize: number;
  /** How many rows a window shares with the page before it; `auto` is 2 % of a page, at least 5. 0 proves nothing. */
  overlap: number | 'auto';
  windowsMax: number;
  /** How often the walk may fall back to the beginning of the list. */
  restartsMax: number;
  /** How often a list that is not newest first is walked until its rows stop growing. */
  roundsMax: number;
};

/** What the walk needs to know of a page. Rows are in list order; a row without a readable key is left out. */
export type PageView = {
  keys: readonly string[];
  /** The sort time of each row in microseconds, null where there is none. */
  times: readonly (bigint | null)[];
  isLast: boolean;
  /** Where the service says that the next page begins; null when it does not say. */
  nextOffset: number | null;
  /** The service's own count of all rows, where it gives one. */
  count: number | null;
};

/** Where a walk stands. Plain JSON, so that a stopped walk can be taken up again with its proof intact. */
export type WalkState = {
  window: Window;
  /** The end of the page accepted last: its last rows with their sort times (as text), in list order. */
  previous: { key: string; time: string | null }[] | null;
  /** How far the next step back goes. */
  stepBackRows: number;
  hasGap: boolean;
  /** Whether the page accepted last brought no row beyond the one before it: what follows then cannot be joined. */
  isBarren: boolean;
  /** Rows that this round has seen first in this pass. */
  newRows: number;
  evidence: PassEvidence;
};

/** What follows from a page: another window, or the end with the reason why it proves nothing, if there is one. */
export type WalkStep =
  | { next: 'window'; state: WalkState }
  | { next: 'end'; state: WalkState; reason: IncompleteReason | null };

/** Rows of the accepted page that seams are judged by. Fewer can only make a seam harder to join. */
const seamRowsMax = 100;
/** A window is not made smaller than this. */
const limitMin = 20;

/** The rows that two pages share: 2 % of a page, at least 5, unless a number is given. */
export function overlapOf(overlap: number | 'auto', pageSize: number): number {
  return overlap === 'auto' ? Math.max(5, Math.ceil(pageSize * 0.02)) : overlap;
}

/** A walk's beginning. */
export function beginWalk(plan: WalkPlan): WalkState {
  return {
    window: { offset: 0, limit: plan.pageSize },
    previous: null,
    stepBackRows: overlapOf(plan.overlap, plan.pageSize),
    hasGap: plan.overlap === 0,
    isBarren: false,
    newRows: 0,
    evidence: noEvidence,
  };
}

/**
 * The windows to have in flight: the state's own, and those that follow if each is served whole. The first page of a
 * walk goes alone, since it tells how many rows are served; beyond the service's count nothing is asked for ahead.
 */
export function windowsAhead(
  plan: WalkPlan,
  { window, previous, evidence }: WalkState,
  most: number,
): Window[] {
  const windows = [window];
  if (previous === null) return windows;
  const end = evidence.countReported ?? Number.POSITIVE_INFINITY;
  for (let last = window; windows.length < most && last.offset + last.limit < end; windows.push(last)) {
    last = windowAfter(plan, last);
  }
  return windows;
}

/** Asks for fewer rows at the same offset, for a service that fails on large or deep windows; undefined at the least. */
export function shrinkWindow(plan: WalkPlan, state: WalkState): WalkState | undefined {
  const limit = Math.max(limitMin, Math.floor(state.window.limit / 2));
  if (limit >= state.window.limit) return undefined;
  return { ...state, window: { ...state.window, limit }, stepBackRows: overlapOf(plan.overlap, limit) };
}

/**
 * Judges the page that the state's window brought; `newRows` is how many of its rows the pass had not seen before.
 * A page is accepted when it begins the list or is joined to the page accepted before it; otherwise the window steps
 * back, twice as far each time, until it is joined or begins the list anew. Only a walk whose every seam is joined,
 * from the first row to the last, is complete; where the list is not newest first, only once a whole round has
 * brought no new row.
 */
export function judgePage(plan: WalkPlan, state: WalkState, page: PageView, newRows: number): WalkStep {
  const { window, previous } = state;
  const isOrdered = state.evidence.isOrdered && isNewestFirst(page.times) && !hasSwappedTies(previous, page);
  const evidence: PassEvidence = {
    ...state.evidence,
    windows: state.evidence.windows + 1,
    countReported: page.count ?? state.evidence.countReported,
    isOrdered,
  };
  const seen = { ...state, newRows: state.newRows + newRows, evidence };
  const isStart = window.offset === 0;
  const isJoined = previous !== null && joins(previous, page, isOrdered);
  // A stretch of positions that show no row, longer than a window, would be stepped back from for ever.
  const mayStepBack = plan.overlap !== 0 && !state.isBarren && evidence.restarts < plan.restartsMax;
  if (!isStart && !isJoined && mayStepBack) {
    evidence.stepBacks += 1;
    const offset = Math.max(0, window.offset - state.stepBackRows);
    return goOn(plan, { ...seen, window: { ...window, offset }, stepBackRows: state.stepBackRows * 2 });
  }
  if (isStart && previous !== null) evidence.restarts += 1;
  if (!isStart && isJoined) evidence.seams += 1;
  const next = nextWindow(plan, window, page);
  const accepted: WalkState = {
    ...seen,
    window: next,
    previous: endOf(page),
    stepBackRows: overlapOf(plan.overlap, next.limit),
    hasGap: isStart ? plan.overlap === 0 : state.hasGap || !isJoined,
    isBarren: bringsNothing(previous, page),
  };
  return page.isLast ? endRound(plan, accepted) : goOn(plan, accepted);
}

/** At the end of the list: the end of the walk, or another round. */
function endRound(plan: WalkPlan, state: WalkState): WalkStep {
  const { evidence, newRows, hasGap } = state;
  if (hasGap) return { next: 'end', state, reason: 'seam_not_joined' };
  // In a list that is newest first, joined seams are proof. Elsewhere rows may change places while they are walked.
  if (evidence.isOrdered || (evidence.rounds > 1 && newRows === 0))
    return { next: 'end', state, reason: null };
  if (evidence.rounds >= plan.roundsMax) return { next: 'end', state, reason: 'order_unstable' };
  const again: WalkState = {
    ...beginWalk(plan),
    window: { offset: 0, limit: state.window.limit },
    evidence: { ...evidence, rounds: evidence.rounds + 1 },
  };
  return goOn(plan, again);
}

function goOn(plan: WalkPlan, state: WalkState): WalkStep {
  if (state.evidence.windows >= plan.windowsMax) return { next: 'end', state, reason: 'windows_limit' };
  return { next: 'window', state };
}

function windowAfter(plan: WalkPlan, { offset, limit }: Window): Window {
  return { offset: offset + Math.max(1, limit - overlapOf(plan.overlap, limit)), limit };
}

/**
 * The next window begins `overlap` rows before the end of this one: of the window, never of the rows received, since
 * a page may be short. A service that serves fewer rows than asked shows it in its next offset, and is asked for no
 * more than that from then on.
 */
function nextWindow(plan: WalkPlan, window: Window, page: PageView): Window {
  const served = page.nextOffset === null ? window.limit : page.nextOffset - window.offset;
  return windowAfter(plan, { offset: window.offset, limit: Math.min(window.limit, served) });
}

function endOf({ keys, times }: PageView): NonNullable<WalkState['previous']> {
  const rows = keys.map((key, index) => ({ key, time: times[index]?.toString() ?? null }));
  return rows.slice(-seamRowsMax);
}

/**
 * Whether a page is joined to the one before: they share two rows in the same order, and, in a list that is newest
 * first, the page begins no later than the other ended. A single shared row may have moved there.
 */
function joins(previous: NonNullable<WalkState['previous']>, page: PageView, isOrdered: boolean): boolean {
  const firstTime = page.times[0] ?? null;
  const lastTime = previous.at(-1)?.time ?? null;
  if (isOrdered && firstTime !== null && lastTime !== null && firstTime < BigInt(lastTime)) return false;
  const places = sharedPlaces(previous, page);
  return places.some((place, index) => index > 0 && place > (places[index - 1] ?? place));
}

function bringsNothing(previous: WalkState['previous'], { keys }: PageView): boolean {
  const known = new Set(previous?.map(({ key }) => key));
  return keys.every((key) => known.has(key));
}

/** Whether two rows of one moment have changed places since the page before: then moments do not order the list. */
function hasSwappedTies(previous: WalkState['previous'], page: PageView): boolean {
  if (previous === null) return false;
  const places = sharedPlaces(previous, page);
  return places.some((place, index) => {
    const before = places[index - 1];
    return before !== undefined && place < before && previous[place]?.time === previous[before]?.time;
  });
}

/** Where the page's rows stood in the page before, in the order of this one; rows that did not are left out. */
function sharedPlaces(previous: NonNullable<WalkState['previous']>, page: PageView): number[] {
  const places = new Map(previous.map(({ key }, place) => [key, place]));
  return page.keys.flatMap((key) => places.get(key) ?? []);
}

function isNewestFirst(times: readonly (bigint | null)[]): boolean {
  return times.every((time, index) => {
    const before = index === 0 ? time : times[index - 1];
    return time !== null && before !== null && before !== undefined && time <= before;
  });
}
