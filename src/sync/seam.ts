import { seamRowsMin, type AcceptedPage } from './walk-state.ts';

/** What the walk needs to know of a page. Rows are in list order; a row without a readable key is left out. */
export type PageView = {
  keys: readonly string[];
  /** The sort time of each row in microseconds, null where there is none. */
  times: readonly (bigint | null)[];
  /** Rows of the page, those without a readable key included. */
  received: number;
  isLast: boolean;
  /** Where the service says that the next page begins; null when it does not say. */
  nextOffset: number | null;
  /** The service's own count of all rows, where it gives one. */
  count: number | null;
};

/**
 * Where the rows of a page begin by which its seam is judged: the last hundred, and before these all of the same moment. A page
 * shows the rows of one moment in any order, so that a part of them would tell nothing.
 */
export function seamStart(times: PageView['times']): number {
  let start = Math.max(0, times.length - seamRowsMin);
  while (start > 0 && times[start] !== null && times[start - 1] === times[start]) start -= 1;
  return start;
}

/** How many rows at the end of a page are of one moment. */
export function countTied(times: PageView['times']): number {
  const last = times.at(-1);
  return times.length - 1 - times.findLastIndex((time) => time !== last);
}

/**
 * Whether a page is joined to the one before. In a list that is newest first, it begins with a row that is newer than the end of the
 * other, and both show a row that has not moved, or two where rows may be misplaced. A page that was reached by a step back (`isApart`)
 * needs no such row, but begins above the end by more rows than may be misplaced. Where the moment at that end fits into no window, the
 * page may begin in it, and both show two such rows. In other lists, both show two rows in the same order: a single one may have moved
 * there.
 */
export function joins(previous: AcceptedPage, page: PageView, isOrdered: boolean, isApart = false): boolean {
  if (isOrdered) {
    const shared = countUnmoved(previous, page);
    const misplaced = misplacedMax(previous);
    if (beginsAbove(previous, page, isApart ? misplaced : 0)) return isApart || shared > Math.min(1, misplaced);
    return shared > 1 && previous.isWithinMoment && beginsWithin(previous, page);
  }
  const places = new Map(previous.rows.map(({ key }, place) => [key, place]));
  const shared = page.keys.flatMap((key) => places.get(key) ?? []);
  return shared.some((place, index) => index > 0 && place > (shared[index - 1] ?? place));
}

/** How many rows a page shares with the one before. A row with another time has moved, and does not count. */
export function countUnmoved({ rows }: AcceptedPage, page: PageView): number {
  const times = new Map(rows.map(({ key, time }) => [key, time]));
  return page.keys.filter((key, index) => {
    const time = times.get(key);
    return time !== undefined && time === timeText(page.times[index]);
  }).length;
}

/**
 * Whether a page begins with a row that is newer than the last one of the page before, in a list that is newest first:
 * then whatever is not newer than that one is on this page or behind it, in whatever order rows of one moment stand. So many
 * `misplaced` rows of either page tell nothing.
 */
function beginsAbove({ rows }: AcceptedPage, page: PageView, misplaced = 0): boolean {
  const firstTime = page.times[misplaced] ?? null;
  const lastTime = rows.at(-1 - misplaced)?.time ?? null;
  return firstTime !== null && lastTime !== null && firstTime > BigInt(lastTime);
}

/**
 * How many rows of a page may be misplaced: fewer than one in ten of those by which its seam is judged. A service that selects rows in one
 * store, and shows them as another has them, shows a merged person's new time before it selects by it, or for good. Such a
 * row ends or begins whatever page it is on.
 */
function misplacedMax({ rows }: AcceptedPage): number {
  return Math.floor(Math.min(seamRowsMin, rows.length) / 11);
}

/** Whether a page begins in the moment in which the page before ends. */
export function beginsWithin({ rows }: AcceptedPage, page: PageView): boolean {
  return timeText(page.times[0]) === rows.at(-1)?.time;
}

/**
 * Whether a page leads further down the list than the one before: it ends in an older moment, or shows a row of the same moment
 * that the other does not show. Where the list is not newest first, its last row is one that the other does not show.
 */
export function endsBelow({ rows }: AcceptedPage, page: PageView, isOrdered: boolean): boolean {
  const lastTime = page.times.at(-1) ?? null;
  const before = rows.at(-1)?.time ?? null;
  const isComparable = isOrdered && lastTime !== null && before !== null;
  if (isComparable && lastTime !== BigInt(before)) return lastTime < BigInt(before);
  const known = new Set(rows.map(({ key }) => key));
  return page.keys.slice(isComparable ? -countTied(page.times) : -1).some((key) => !known.has(key));
}

/**
 * Whether a page confirms that the page before it was the end of the list: it shows the last rows of that page, those of one moment
 * in any order, and nothing else, but not all of them. A service that ignores or clamps the offset shows the same page once more.
 */
export function isEndOf(previous: AcceptedPage, page: PageView): boolean {
  const { rows, shown } = previous;
  const { keys, times } = page;
  if (!page.isLast || keys.length >= shown) return false;
  if (keys.length === 0) return shown === 1 && page.received === 0;
  const end = rows.slice(-keys.length);
  // A row that has moved to the end of the list has another time than it had.
  const hasSameTimes = end.length === keys.length && end.every(({ time }, index) => time === timeText(times[index]));
  const known = new Map(rows.map(({ key, time }) => [key, time]));
  const isKnown = (key: string, index: number): boolean => known.get(key) === timeText(times[index]);
  return hasSameTimes && new Set(keys).size === keys.length && keys.every(isKnown);
}

/** A time as it is stored. */
export function timeText(time: bigint | null | undefined): string | null {
  return time?.toString() ?? null;
}

/**
 * Gives rows without a time that can be read (undefined) that of a neighbour: of the nearest above, and where a page begins with
 * them, of the nearest below. In a list that is newest first a page then never seems to begin newer nor to end older than
 * it does, so that a seam can only be harder to join. Null where no row of the page has a time that can be read.
 */
export function placeUntimed(times: readonly (bigint | null | undefined)[]): (bigint | null)[] {
  let nearest = times.find((time) => time !== undefined) ?? null;
  return times.map((time) => {
    if (time !== undefined) nearest = time;
    return nearest;
  });
}

/** Whether every row has a time, and none is newer than the one before it. */
export function isNewestFirst(times: readonly (bigint | null)[]): boolean {
  return times.every((time, index) => {
    const before = index === 0 ? time : times[index - 1];
    return time !== null && before !== null && before !== undefined && time <= before;
  });
}
