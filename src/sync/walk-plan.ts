import { noEvidence, type IncompleteReason, type PassEvidence } from '../mirror/passes.ts';
import { acceptPage, hasStrays } from './accept-page.ts';
import { endsBelow, isEndOf, isNewestFirst, joins, timeText, type PageView } from './seam.ts';
import { seamRowsMin, type WalkState } from './walk-state.ts';
import { cutMin, mayServe, overlapOf, regrowWindow, type WalkPlan } from './walk-windows.ts';

/** The step after a page: another window, or the end. A reason says why the pass is incomplete. */
export type WalkStep =
  | { next: 'window'; state: WalkState }
  | { next: 'end'; state: WalkState; reason: IncompleteReason | null };

/** From the first `pages` pages, the walk may return to the beginning `times` times more. */
const cheapRestart = { pages: 10, times: 50 };

/** The service's count may exceed the rows that a pass over several pages has seen by so many, or by this share. */
const countSlack = { rows: 5, share: 0.05 };

/** At most so many windows in a row lead no further down the list. */
const stallsMax = 5;

/** At most so many windows bring no progress, besides those that lead back to where the walk was. */
const standstillMax = 100;

/** A walk's beginning. */
export function beginWalk(plan: WalkPlan): WalkState {
  return {
    window: { offset: 0, limit: plan.pageSize },
    limit: plan.pageSize,
    cap: null,
    longest: null,
    previous: null,
    apart: null,
    stepBackRows: overlapOf(plan.overlap, plan.pageSize),
    hasGivenUp: plan.overlap === 0 ? 'for good' : 'no',
    hasGap: plan.overlap === 0,
    frontier: { offset: 0, windowsAgo: 0 },
    stalls: 0,
    standstill: 0,
    newRows: 0,
    newest: null,
    oldest: null,
    strays: 0,
    evidence: noEvidence,
  };
}

/**
 * Judges the page of the state's window. `newRows` is how many of its rows the pass had not seen before. A page is accepted
 * when it begins the list or is joined to the last accepted page; otherwise the walk looks for such a page. A walk is
 * complete when every seam is joined. A list that is not newest first also needs a whole round without a new row.
 */
export function judgePage(plan: WalkPlan, state: WalkState, page: PageView, newRows: number): WalkStep {
  const { previous, apart, window, frontier } = state;
  const isOrdered = state.evidence.isOrdered && isNewestFirst(page.times);
  const isFirstRound = state.evidence.rounds === 1;
  const evidence: PassEvidence = {
    ...state.evidence,
    windows: state.evidence.windows + 1,
    countReported: page.count ?? state.evidence.countReported,
    rowsDistinct: state.evidence.rowsDistinct + newRows,
    isOrdered,
  };
  const counted: WalkState = {
    ...state,
    newRows: state.newRows + newRows - (isOrdered ? Math.min(newRows, addedAtTop(state, page)) : 0),
    newest: timeText(isOrdered ? newestOf(state, page) : null),
    oldest: oldestOf(state, page),
    evidence,
    standstill: state.standstill + 1,
    frontier: { ...frontier, windowsAgo: frontier.windowsAgo + 1 },
  };
  if (previous?.isLast === true && isEndOf(previous, page)) return endRound(plan, counted);
  const isFurther = previous === null || endsBelow(previous, page, isOrdered);
  // New rows at the top of the list are no progress.
  const isForward = previous !== null && window.offset > previous.window.offset;
  const isWide = apart === null && window.limit > state.limit;
  if (isFurther && (isForward || isWide) && newRows > 0) counted.standstill = 0;
  if (counted.standstill > standstillMaxOf(plan, counted)) return endIncomplete(counted, 'no_progress');
  // A page that leads no further may answer another window. Its `next` is not used.
  const view = isFurther ? page : { ...page, nextOffset: null };
  const seen = isFurther ? learnServed(counted, view) : counted;
  const isJoined = previous !== null && joins(previous, page, isOrdered, apart !== null);
  if (window.offset > 0 && !isJoined && state.hasGivenUp === 'no') return goOn(plan, lookForSeam(plan, seen));
  const stalls = isFurther ? 0 : state.stalls + (isForward || apart === null ? 1 : 0);
  const known = isFirstRound ? page.keys.length - newRows : 0;
  const next = acceptPage(plan, regrowWindow(plan, { ...seen, stalls }), view, { isJoined, isFurther, known });
  if (stalls >= stallsMax) return endIncomplete(next, 'no_progress');
  // A service that cuts a large page may say that nothing follows: it shows a full one, or as many rows as it serves.
  const isWhole = page.received < Math.min(window.limit, cutMin) || page.count !== null;
  const isOnlyPage = isWhole && window.offset === 0 && state.previous === null && state.evidence.seams === 0;
  return page.isLast ? confirmEnd(plan, next, page, isOnlyPage) : goOn(plan, next);
}

/** How many rows of a page are newer than all that the pass has seen: they were added to the list meanwhile. */
function addedAtTop({ newest }: WalkState, { times }: PageView): number {
  if (newest === null) return 0;
  const before = BigInt(newest);
  return times.filter((time) => time !== null && time > before).length;
}

function newestOf({ newest }: WalkState, { times: [first = null] }: PageView): bigint | null {
  return newest === null || (first !== null && first > BigInt(newest)) ? first : BigInt(newest);
}

function oldestOf({ oldest }: WalkState, { times }: PageView): string | null {
  const before = oldest === null ? null : BigInt(oldest);
  return timeText(
    times.reduce((least, time) => (least === null || (time !== null && time < least) ? time : least), before),
  );
}

/**
 * How many windows in a row may bring no new row: enough to step back to the beginning of the list and to return, and
 * six more; within a moment twice. The frontier bounds later rounds, which bring no new rows.
 */
function standstillMaxOf(plan: WalkPlan, { evidence, limit, previous }: WalkState): number {
  const { rounds, rowsDistinct } = evidence;
  if (rounds > 1) return Number.POSITIVE_INFINITY;
  const shared = Math.max(1, overlapOf(plan.overlap, limit));
  const advance = Math.max(1, limit - shared);
  const most = 6 + Math.ceil(Math.log2(1 + rowsDistinct / shared)) + Math.ceil(rowsDistinct / advance);
  return previous?.isWithinMoment ? 2 * most : most;
}

/**
 * The step after an accepted page that the service calls the last. One more window begins near the page's end. The list
 * has ended only if that window shows exactly the page's end: a service that ignores or clamps the offset shows the whole
 * page again. An only page needs no such window where it is not full, or counts: its offset is 0.
 */
function confirmEnd(plan: WalkPlan, state: WalkState, page: PageView, isOnly: boolean): WalkStep {
  if (isOnly || state.hasGap || !state.previous) return endRound(plan, state, isOnly);
  // Fewer than the rows that are kept of the page, so that rows added meanwhile leave the window within them.
  const shared = Math.min(seamRowsMin / 2, overlapOf(plan.overlap, mayServe(state, state.limit)));
  const { window } = state.previous;
  const offset = window.offset + Math.max(1, page.keys.length - shared);
  // As wide as the page: a service that serves another offset shows as many rows again, and so confirms nothing.
  return goOn(plan, { ...state, window: { offset, limit: Math.max(state.limit, window.limit) } });
}

/**
 * Learns how many rows the service serves. If it says where the next page begins, later windows ask for no more rows.
 * Otherwise only the pages' lengths tell, and a page may be short: the windows stay as large, and the longest page says
 * how far a window surely reaches.
 */
function learnServed(state: WalkState, { nextOffset, isLast, received }: PageView): WalkState {
  const { window, limit, longest } = state;
  if (nextOffset !== null) {
    const served = nextOffset - window.offset;
    return served < window.limit ? { ...state, cap: served, limit: Math.min(limit, served) } : state;
  }
  return isLast || received === 0 ? state : { ...state, longest: Math.max(longest ?? 0, received) };
}

/**
 * Looks for a page that is joined to the last accepted page. Usually rows above were deleted and later rows moved up, so
 * the window steps back, twice as far each time, at most to the beginning of the list. If the accepted page ended in
 * positions without rows, the window is also as wide as allowed, to reach beyond them. If neither helps, the walk goes on
 * with a gap.
 */
function lookForSeam(plan: WalkPlan, state: WalkState): WalkState {
  const { window, previous, stepBackRows, evidence } = state;
  const apart = state.apart ?? window;
  const widest = state.cap ?? plan.widestRows;
  const isBarren = previous !== null && previous.isBarren;
  const isWidening = isBarren && state.apart === null;
  const offset = isWidening ? previous.window.offset : Math.max(0, window.offset - stepBackRows);
  // No page can join a page without rows, and a page as wide as the last one reaches no other rows.
  const isHopeless = isBarren && (previous.window.limit >= widest || (previous.rows.length === 0 && offset > 0));
  const pageRows = mayServe(state, state.limit);
  const isCheap = apart.offset <= cheapRestart.pages * pageRows;
  const restartsMax = plan.restartsMax + (isCheap ? cheapRestart.times : 0);
  // Enough windows to walk twice to the frontier.
  const isGettingNowhere = state.frontier.windowsAgo > standstillMax + (4 * state.frontier.offset) / pageRows;
  if (isHopeless || isGettingNowhere || (offset === 0 && evidence.restarts >= restartsMax))
    return {
      ...withMoment(state),
      apart,
      window: { ...apart, limit: state.limit },
      hasGivenUp: isGettingNowhere ? 'for good' : 'this seam',
    };
  return {
    ...state,
    apart,
    window: { offset, limit: isBarren ? widest : apart.limit },
    stepBackRows: isWidening ? stepBackRows : stepBackRows * 2,
    evidence: { ...evidence, stepBacks: evidence.stepBacks + 1 },
  };
}

/**
 * Whether the pass has seen about as many rows as the service counts. A small difference comes from rows that changed
 * during the walk. A larger one means that the list ended too early. The only page of a list is of the same moment as its count,
 * so it shows all that are counted. True without a count.
 */
function isCountReached({ countReported, rowsDistinct }: PassEvidence, isOnly: boolean): boolean {
  if (countReported === null) return true;
  const slack = isOnly ? 0 : Math.max(countSlack.rows, countReported * countSlack.share);
  return countReported - rowsDistinct <= slack;
}

/** At the end of the list: the end of the walk, or another round. */
function endRound(plan: WalkPlan, state: WalkState, isOnly = false): WalkStep {
  const { evidence, newRows, hasGap, strays } = state;
  if (hasGap) return endIncomplete(state, 'seam_not_joined');
  // Joined seams prove a list that is newest first. In other lists, rows may change places during the walk.
  if ((evidence.isOrdered && !hasStrays(state)) || (evidence.rounds > 1 && newRows === 0))
    return { next: 'end', state, reason: isCountReached(evidence, isOnly) ? null : 'count_not_reached' };
  if (evidence.rounds >= plan.roundsMax) return endIncomplete(state, 'order_unstable');
  const again: WalkState = {
    ...beginWalk(plan),
    window: { offset: 0, limit: state.limit },
    limit: state.limit,
    cap: state.cap,
    longest: state.longest,
    newest: state.newest,
    oldest: state.oldest,
    strays,
    evidence: { ...evidence, rounds: evidence.rounds + 1 },
  };
  return goOn(plan, again);
}

/** The state with the size of the moment in which the walk stands, where that fits into no window. */
function withMoment(state: WalkState): WalkState {
  const { previous, evidence } = state;
  if (!previous?.isWithinMoment) return state;
  return { ...state, evidence: { ...evidence, momentRows: Math.max(evidence.momentRows, previous.momentRows) } };
}

/** The end of a walk that is not complete. A moment that fits into no window is the reason, where there is one. */
function endIncomplete(ended: WalkState, reason: IncompleteReason): WalkStep {
  const state = withMoment(ended);
  const { isOrdered, momentRows } = state.evidence;
  return { next: 'end', state, reason: isOrdered && momentRows > 0 ? 'moment_too_large' : reason };
}

function goOn(plan: WalkPlan, state: WalkState): WalkStep {
  if (state.evidence.windows >= plan.windowsMax) return { next: 'end', state, reason: 'windows_limit' };
  return { next: 'window', state };
}
