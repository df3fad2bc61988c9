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
  /** How often the walk may fall back to the beginning of the list; oftener from its first pages. */
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
  /** Rows asked for where nothing speaks against it: the plan's page, or what the service serves or bears. */
  limit: number;
  /** The most that the service serves at once, once it has shown that; else null. */
  cap: number | null;
  /** The page accepted last: its window, and its last rows with their sort times (as text), in list order. */
  previous: { window: Window; rows: { key: string; time: string | null }[]; isBarren: boolean } | null;
  /** The window whose page first could not be joined to the page accepted last; null when none has failed to. */
  apart: Window | null;
  /** How far the next step back goes. */
  stepBackRows: number;
  /** Whether the walk has given up on this seam, or on looking for seams at all: then it takes pages as they are. */
  hasGivenUp: 'no' | 'this seam' | 'for good';
  hasGap: boolean;
  /** How far down the walk has come, and how many windows ago. */
  frontier: { offset: number; windowsAgo: number };
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
/** A window is not made smaller than this, */
const limitMin = 20;
/** and not wider than so many pages. */
const widestPages = 16;

/** From so few pages down the list, the walk may fall back to its beginning so much oftener. */
const cheapRestart = { pages: 10, times: 50 };

/** So many windows may bring the walk no further, besides those that it takes to come there again. */
const standstillMax = 100;

/** The rows that two pages share: 2 % of a page, at least 5, unless a number is given. */
export function overlapOf(overlap: number | 'auto', pageSize: number): number {
  return overlap === 'auto' ? Math.max(5, Math.ceil(pageSize * 0.02)) : overlap;
}

/** A walk's beginning. */
export function beginWalk(plan: WalkPlan): WalkState {
  return {
    window: { offset: 0, limit: plan.pageSize },
    limit: plan.pageSize,
    cap: null,
    previous: null,
    apart: null,
    stepBackRows: overlapOf(plan.overlap, plan.pageSize),
    hasGivenUp: plan.overlap === 0 ? 'for good' : 'no',
    hasGap: plan.overlap === 0,
    frontier: { offset: 0, windowsAgo: 0 },
    newRows: 0,
    evidence: noEvidence,
  };
}

/**
 * The windows to have in flight: the state's own, and those that follow if each is served whole and joined. The first
 * page of a walk goes alone, since it tells how many rows are served; beyond the service's count nothing is asked for
 * ahead, and nothing while a seam is looked for.
 */
export function windowsAhead(plan: WalkPlan, state: WalkState, most: number): Window[] {
  const windows = [state.window];
  if (state.previous === null || state.apart !== null) return windows;
  const end = state.evidence.countReported ?? Number.POSITIVE_INFINITY;
  for (let last = state.window; windows.length < most && last.offset + last.limit < end; windows.push(last)) {
    last = windowAfter(plan, state.limit, last);
  }
  return windows;
}

/** Asks for fewer rows at the same offset, for a service that fails on large or deep windows; undefined at the least. */
export function shrinkWindow(plan: WalkPlan, state: WalkState): WalkState | undefined {
  const limit = Math.max(limitMin, Math.floor(state.window.limit / 2));
  if (limit >= state.window.limit) return undefined;
  const window = { ...state.window, limit };
  return {
    ...state,
    window,
    limit: Math.min(limit, state.limit),
    stepBackRows: overlapOf(plan.overlap, limit),
  };
}

/**
 * Judges the page that the state's window brought; `newRows` is how many of its rows the pass had not seen before.
 * A page is accepted when it begins the list or is joined to the page accepted before it; otherwise the walk looks for
 * a page that is. Only a walk whose every seam is joined, from the first row to the last, is complete; where the list
 * is not newest first, only once a whole round has brought no new row.
 */
export function judgePage(plan: WalkPlan, state: WalkState, page: PageView, newRows: number): WalkStep {
  const isOrdered =
    state.evidence.isOrdered && isNewestFirst(page.times) && !hasSwappedTies(state.previous, page);
  const evidence: PassEvidence = {
    ...state.evidence,
    windows: state.evidence.windows + 1,
    countReported: page.count ?? state.evidence.countReported,
    isOrdered,
  };
  const frontier = { ...state.frontier, windowsAgo: state.frontier.windowsAgo + 1 };
  const seen = learnCap({ ...state, newRows: state.newRows + newRows, evidence, frontier }, page);
  const isStart = state.window.offset === 0;
  const isJoined =
    state.previous !== null &&
    (joins(state.previous, page, isOrdered) ||
      (isOrdered && state.apart !== null && beginsAbove(state.previous, page)));
  if (isStart || isJoined || state.hasGivenUp !== 'no') return accept(plan, seen, page, isJoined);
  return goOn(plan, lookForSeam(plan, seen));
}

/** A service that serves fewer rows than asked shows it in its next offset, and is asked for no more from then on. */
function learnCap(state: WalkState, { nextOffset }: PageView): WalkState {
  const served = nextOffset === null ? state.window.limit : nextOffset - state.window.offset;
  if (served >= state.window.limit) return state;
  return { ...state, cap: served, limit: Math.min(state.limit, served) };
}

function accept(plan: WalkPlan, state: WalkState, page: PageView, isJoined: boolean): WalkStep {
  const { window, previous, apart, evidence } = state;
  const isStart = window.offset === 0;
  const known = new Set(previous?.rows.map(({ key }) => key));
  const lastKey = page.keys.at(-1);
  const served =
    page.nextOffset === null ? window.limit : Math.min(window.limit, page.nextOffset - window.offset);
  const accepted: WalkState = {
    ...state,
    window: windowAfter(plan, state.limit, { ...window, limit: served }),
    previous: {
      window: { ...window, limit: served },
      rows: page.keys
        .map((key, index) => ({ key, time: page.times[index]?.toString() ?? null }))
        .slice(-seamRowsMax),
      isBarren: page.keys.length < 2 || lastKey === undefined || known.has(lastKey),
    },
    apart: null,
    stepBackRows: overlapOf(plan.overlap, state.limit),
    hasGivenUp: state.hasGivenUp === 'for good' ? 'for good' : 'no',
    hasGap: state.hasGap || !(isStart || isJoined),
    frontier:
      window.offset > state.frontier.offset ? { offset: window.offset, windowsAgo: 0 } : state.frontier,
    evidence: {
      ...evidence,
      seams: evidence.seams + (isJoined && !isStart ? 1 : 0),
      restarts: evidence.restarts + (isStart && apart !== null ? 1 : 0),
    },
  };
  return page.isLast ? endRound(plan, accepted) : goOn(plan, accepted);
}

/**
 * Where to look for a page that is joined to the one accepted last. Usually rows above have gone, and what follows has
 * moved up: the window steps back, twice as far each time, to the beginning of the list if it must. Where the page
 * accepted last ended in places that show no row, the window is also as wide as it may be, so that it reaches beyond
 * them. When neither can help, the walk goes on with a gap from where it was.
 */
function lookForSeam(plan: WalkPlan, state: WalkState): WalkState {
  const { window, previous, stepBackRows, evidence } = state;
  const apart = state.apart ?? window;
  const widest = state.cap ?? plan.pageSize * widestPages;
  const isBarren = previous !== null && previous.isBarren;
  const isWidening = isBarren && state.apart === null;
  const offset = isWidening ? previous.window.offset : Math.max(0, window.offset - stepBackRows);
  // Nothing is joined to a page without a row, and nothing else is reached by a page as wide as the last.
  const isHopeless =
    isBarren && (previous.window.limit >= widest || (previous.rows.length === 0 && offset > 0));
  const isCheap = apart.offset <= cheapRestart.pages * state.limit;
  const restartsMax = plan.restartsMax + (isCheap ? cheapRestart.times : 0);
  // Time enough to walk twice to where the walk has been before.
  const isGettingNowhere =
    state.frontier.windowsAgo > standstillMax + (4 * state.frontier.offset) / state.limit;
  if (isHopeless || isGettingNowhere || (offset === 0 && evidence.restarts >= restartsMax))
    return {
      ...state,
      apart,
      window: { ...apart, limit: state.limit },
      hasGivenUp: isGettingNowhere ? 'for good' : 'this seam',
    };
  return {
    ...state,
    apart,
    window: { offset, limit: isBarren ? widest : state.limit },
    stepBackRows: isWidening ? stepBackRows : stepBackRows * 2,
    evidence: { ...evidence, stepBacks: evidence.stepBacks + 1 },
  };
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
    window: { offset: 0, limit: state.limit },
    limit: state.limit,
    cap: state.cap,
    evidence: { ...evidence, rounds: evidence.rounds + 1 },
  };
  return goOn(plan, again);
}

function goOn(plan: WalkPlan, state: WalkState): WalkStep {
  if (state.evidence.windows >= plan.windowsMax) return { next: 'end', state, reason: 'windows_limit' };
  return { next: 'window', state };
}

/**
 * The next window begins `overlap` rows before the end of this one: of the window, never of the rows received, since
 * a page may be short.
 */
function windowAfter(plan: WalkPlan, limit: number, window: Window): Window {
  return { offset: window.offset + Math.max(1, window.limit - overlapOf(plan.overlap, limit)), limit };
}

/**
 * Whether a page is joined to the one before: they share two rows in the same order, and, in a list that is newest
 * first, the page begins no later than the other ended. A single shared row may have moved there.
 */
function joins({ rows }: NonNullable<WalkState['previous']>, page: PageView, isOrdered: boolean): boolean {
  const firstTime = page.times[0] ?? null;
  const lastTime = rows.at(-1)?.time ?? null;
  if (isOrdered && firstTime !== null && lastTime !== null && firstTime < BigInt(lastTime)) return false;
  const places = sharedPlaces(rows, page);
  return places.some((place, index) => index > 0 && place > (places[index - 1] ?? place));
}

/**
 * Whether a page begins with a row that is newer than the last one of the page before, in a list that is newest first:
 * then whatever follows that one is on this page or behind it. Asked when no two rows are left to be shared.
 */
function beginsAbove({ rows }: NonNullable<WalkState['previous']>, page: PageView): boolean {
  const firstTime = page.times[0] ?? null;
  const lastTime = rows.at(-1)?.time ?? null;
  return firstTime !== null && lastTime !== null && firstTime > BigInt(lastTime);
}

/** Whether two rows of one moment have changed places since the page before: then moments do not order the list. */
function hasSwappedTies(previous: WalkState['previous'], page: PageView): boolean {
  const rows = previous?.rows ?? [];
  const places = sharedPlaces(rows, page);
  return places.some((place, index) => {
    const before = places[index - 1];
    return before !== undefined && place < before && rows[place]?.time === rows[before]?.time;
  });
}

/** Where the page's rows stood in the page before, in the order of this one; rows that did not are left out. */
function sharedPlaces(rows: readonly { key: string }[], page: PageView): number[] {
  const places = new Map(rows.map(({ key }, place) => [key, place]));
  return page.keys.flatMap((key) => places.get(key) ?? []);
}

function isNewestFirst(times: readonly (bigint | null)[]): boolean {
  return times.every((time, index) => {
    const before = index === 0 ? time : times[index - 1];
    return time !== null && before !== null && before !== undefined && time <= before;
  });
}
