import type { AcceptedPage } from './walk-state.ts';

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
 * Whether a page is joined to the one before: they share two rows in the same order, and, in a list that is newest
 * first, the page begins no later than the other ended. A single shared row may have moved there.
 */
export function joins({ rows }: AcceptedPage, page: PageView, isOrdered: boolean): boolean {
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
export function beginsAbove({ rows }: AcceptedPage, page: PageView): boolean {
  const firstTime = page.times[0] ?? null;
  const lastTime = rows.at(-1)?.time ?? null;
  return firstTime !== null && lastTime !== null && firstTime > BigInt(lastTime);
}

/** Whether a page leads further down the list than the one before: it ends with a row that the other does not show. */
export function endsBelow({ rows }: AcceptedPage, page: PageView, isOrdered: boolean): boolean {
  const lastKey = page.keys.at(-1);
  if (lastKey === undefined) return false;
  const lastTime = page.times.at(-1) ?? null;
  const before = rows.at(-1)?.time ?? null;
  if (isOrdered && lastTime !== null && before !== null && lastTime > BigInt(before)) return false;
  return !rows.some(({ key }) => key === lastKey);
}

/**
 * Whether a page confirms that the page before it was the end of the list: it shows the last rows of that page and
 * nothing else, but not all of them. A service that ignores or clamps the offset shows the same page once more.
 */
export function isEndOf({ rows, shown }: AcceptedPage, page: PageView): boolean {
  if (!page.isLast || page.keys.length >= shown) return false;
  if (page.keys.length === 0) return shown === 1 && page.received === 0;
  const end = rows.slice(-page.keys.length);
  return (
    end.length === page.keys.length &&
    // A row that has moved to the end of the list has another time than it had.
    end.every(({ key, time }, index) => key === page.keys[index] && time === (page.times[index]?.toString() ?? null))
  );
}

/** Whether two rows of one moment have changed places since the page before: then moments do not order the list. */
export function hasSwappedTies(previous: AcceptedPage | null, page: PageView): boolean {
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

/**
 * Gives rows whose time cannot be read (undefined) that of a neighbour: of the nearest above, and where a page begins with
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
