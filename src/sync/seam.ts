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
