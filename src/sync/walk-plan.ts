import type { IncompleteReason, PassEvidence } from '../mirror/passes.ts';

/** What is asked of a list at once. */
export type Window = { offset: number; limit: number };

/** How a list is walked. `overlap` is how many rows a window shares with the page before it; 0 proves nothing. */
export type WalkPlan = { pageSize: number; overlap: number; windowsMax: number; restartsMax: number };

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
  /** The end of the page accepted last: the keys of its last rows, and the sort time of its last row. */
  previous: { keys: string[]; lastTimeMicros: string | null } | null;
  /** How far the next step back goes. */
  stepBackRows: number;
  hasGap: boolean;
  evidence: PassEvidence;
};

/** What follows from a page: another window, or the end with the reason why it proves nothing, if there is one. */
export type WalkStep =
  | { next: 'window'; state: WalkState }
  | { next: 'end'; state: WalkState; reason: IncompleteReason | null };

/** Keys of the accepted page that seams are judged by. Fewer can only make a seam harder to join. */
const seamKeysMax = 200;

/** The rows that two pages share by default: 2 % of a page, at least 5. */
export function overlapOf(overlap: number | 'auto', pageSize: number): number {
  return overlap === 'auto' ? Math.max(5, Math.ceil(pageSize * 0.02)) : overlap;
}

/** A walk's beginning. */
export function beginWalk(plan: WalkPlan): WalkState {
  return {
    window: { offset: 0, limit: plan.pageSize },
    previous: null,
    stepBackRows: plan.overlap,
    hasGap: plan.overlap === 0,
    evidence: { windows: 0, seams: 0, stepBacks: 0, restarts: 0, countReported: null, isOrdered: true },
  };
}

/**
 * Judges the page that the state's window brought. A page is accepted when it begins the list or is joined to the
 * page accepted before it; otherwise the window steps back, twice as far each time, until it is joined or begins the
 * list anew. Only a walk whose every seam is joined, from the first row to the last, is complete.
 */
export function judgePage(plan: WalkPlan, state: WalkState, page: PageView): WalkStep {
  const { window, previous } = state;
  const isOrdered = state.evidence.isOrdered && isNewestFirst(page.times);
  const evidence: PassEvidence = {
    ...state.evidence,
    windows: state.evidence.windows + 1,
    countReported: page.count ?? state.evidence.countReported,
    isOrdered,
  };
  const isStart = window.offset === 0;
  const isJoined = previous !== null && joins(previous, page, isOrdered);
  const mayStepBack =
    plan.overlap > 0 && (evidence.restarts < plan.restartsMax || window.offset > state.stepBackRows);
  if (!isStart && !isJoined && mayStepBack) {
    const offset = Math.max(0, window.offset - state.stepBackRows);
    return step(plan, {
      ...state,
      window: { ...window, offset },
      stepBackRows: state.stepBackRows * 2,
      evidence: { ...evidence, stepBacks: evidence.stepBacks + 1 },
    });
  }
  if (isStart && previous !== null) evidence.restarts += 1;
  if (!isStart && isJoined) evidence.seams += 1;
  const hasGap = isStart ? plan.overlap === 0 : state.hasGap || !isJoined;
  const accepted: WalkState = {
    window: { offset: nextOffset(plan, window, page), limit: plan.pageSize },
    previous: { keys: page.keys.slice(-seamKeysMax), lastTimeMicros: page.times.at(-1)?.toString() ?? null },
    stepBackRows: plan.overlap,
    hasGap,
    evidence,
  };
  if (page.isLast) return { next: 'end', state: accepted, reason: hasGap ? 'seam_not_joined' : null };
  return step(plan, accepted);
}

function step(plan: WalkPlan, state: WalkState): WalkStep {
  if (state.evidence.windows >= plan.windowsMax) return { next: 'end', state, reason: 'windows_limit' };
  return { next: 'window', state };
}

/**
 * The next window begins `overlap` rows before the end of this one: of the window, never of the rows received, since
 * a page may be short. A service that serves fewer rows than asked shows it in its next offset.
 */
function nextOffset(plan: WalkPlan, window: Window, page: PageView): number {
  const served = page.nextOffset === null ? window.limit : page.nextOffset - window.offset;
  const advance = Math.min(window.limit, served);
  return window.offset + Math.max(1, advance - plan.overlap);
}

/**
 * Whether a page is joined to the one before: they share two rows in the same order, and, in a list that is newest
 * first, the page begins no later than the other ended. A single shared row may have moved there.
 */
function joins(previous: NonNullable<WalkState['previous']>, page: PageView, isOrdered: boolean): boolean {
  const firstTime = page.times[0] ?? null;
  if (
    isOrdered &&
    firstTime !== null &&
    previous.lastTimeMicros !== null &&
    firstTime < BigInt(previous.lastTimeMicros)
  )
    return false;
  const places = new Map(previous.keys.map((key, place) => [key, place]));
  let last: number | undefined;
  for (const key of page.keys) {
    const place = places.get(key);
    if (place === undefined) continue;
    if (last !== undefined && place > last) return true;
    last = place;
  }
  return false;
}

function isNewestFirst(times: readonly (bigint | null)[]): boolean {
  return times.every((time, index) => {
    const before = index === 0 ? time : times[index - 1];
    return time !== null && before !== null && before !== undefined && time <= before;
  });
}
