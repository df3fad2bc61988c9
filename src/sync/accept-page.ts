import { beginsWithin, countTied, countUnmoved, seamStart, timeText, type PageView } from './seam.ts';
import type { AcceptedPage, WalkState, Window } from './walk-state.ts';
import { mayServe, overlapOf, windowAfter, windowAroundMoment, type WalkPlan } from './walk-windows.ts';

/** How many positions a page covers: fewer than asked for, where the service serves no more. */
function servedBy({ window, limit, cap, stalls }: WalkState, { nextOffset, keys, isLast }: PageView): number {
  const most = Math.min(window.limit, cap ?? window.limit);
  if (nextOffset !== null) return Math.min(most, nextOffset - window.offset);
  // A wider window that led no further was not served whole.
  return stalls > 0 && window.limit > limit && !isLast ? Math.min(most, Math.max(limit, keys.length)) : most;
}

/**
 * How a page stands to the one before: whether it is joined to it and leads further down the list. `known`: how many of its rows
 * the pass had seen before.
 */
type Judged = { isJoined: boolean; isFurther: boolean; known: number };

/** The state once a page is accepted: the next window begins before the end of this one. */
export function acceptPage(
  plan: WalkPlan,
  state: WalkState,
  page: PageView,
  { isJoined, isFurther, known }: Judged,
): WalkState {
  const { window, previous, apart, evidence } = state;
  const served: Window = { ...window, limit: servedBy(state, page) };
  const isStart = window.offset === 0;
  const covered = page.nextOffset === null ? mayServe(state, served.limit) : served.limit;
  const shared = overlapOf(plan.overlap, mayServe(state, state.limit));
  const tied = evidence.isOrdered ? countTied(page.times) : 0;
  const isLong = plan.overlap !== 0 && tied >= shared;
  const around = isLong ? windowAroundMoment(plan, state, served, page) : undefined;
  const isInside = isJoined && previous !== null && evidence.isOrdered && beginsWithin(previous, page);
  const moment = isInside ? momentAfter(previous, page, window, known) : { rows: 0, strays: 0 };
  const start = seamStart(page.times);
  return {
    ...state,
    window: around ?? windowAfter(plan, state, served, covered),
    // A window that was not served whole: the service serves no more.
    cap: served.limit < window.limit && state.stalls > 0 ? served.limit : state.cap,
    previous: {
      window: served,
      rows: page.keys.slice(start).map((key, index) => ({ key, time: timeText(page.times[start + index]) })),
      isBarren: page.keys.length < 2 || (!page.isLast && page.keys.length < served.limit && !isFurther),
      shown: page.keys.length,
      isLast: page.isLast,
      momentRows: isInside && tied === page.times.length ? moment.rows : tied,
      isWithinMoment: isLong && around === undefined,
    },
    apart: null,
    stepBackRows: shared,
    hasGivenUp: state.hasGivenUp === 'for good' ? 'for good' : 'no',
    hasGap: state.hasGap || !(isStart || isJoined),
    strays: state.strays + moment.strays,
    frontier: window.offset > state.frontier.offset ? { offset: window.offset, windowsAgo: 0 } : state.frontier,
    evidence: {
      ...evidence,
      momentRows: Math.max(evidence.momentRows, moment.rows),
      seams: evidence.seams + (isJoined && !isStart ? 1 : 0),
      restarts: evidence.restarts + (isStart && apart !== null ? 1 : 0),
    },
  };
}

/** So many rows may be added above between two answers, and so many may move into a moment, or this share of its rows. */
const expected = { added: 5, moved: 5, share: 0.01 };

/**
 * What a page shows of the moment in which the page before ended and it begins. In a list that keeps the order of its rows, both
 * pages share no more rows than places, but for rows that were added above, and the page shows no other row that was seen before.
 */
function momentAfter(previous: AcceptedPage, page: PageView, { offset }: Window, known: number) {
  const shared = countUnmoved(previous, page);
  const ofMoment = page.times.filter((time) => time === page.times[0]).length;
  const places = previous.window.offset + previous.window.limit - offset;
  const strays = Math.max(0, shared - places - expected.added) + Math.max(0, known - shared);
  return { rows: previous.momentRows + ofMoment - shared, strays };
}

/** Whether more rows of one moment were seen elsewhere than expected: then the service may keep no order among them. */
export function hasStrays({ strays, evidence }: WalkState): boolean {
  return strays > Math.max(expected.moved, evidence.momentRows * expected.share);
}
