import { expect, it } from 'vitest';
import { prepareFindRowKey } from '../../src/mirror/tables.ts';
import { prepareNameKnown } from '../../src/sync/page.ts';
import type { PageView } from '../../src/sync/seam.ts';
import type { AcceptedPage } from '../../src/sync/walk-state.ts';
import { openTestMirror } from '../mirror/open-test-mirror.ts';

const uuid = (rowKey: number): string => `uuid ${rowKey}`;
const standIn = (rowKey: number): string => `\0${rowKey}`;

/** A page of known rows. */
function pageOf(from: number, to: number): PageView {
  const keys = Array.from({ length: to - from + 1 }, (_key, index) => standIn(from + index));
  return { keys, times: keys.map(() => null), received: keys.length, isLast: false, nextOffset: null, count: null };
}

function accepted(from: number, to: number): AcceptedPage {
  const rows = Array.from({ length: to - from + 1 }, (_row, index) => ({ key: uuid(from + index), time: null }));
  return {
    window: { offset: 0, limit: 200 },
    rows,
    isBarren: false,
    shown: rows.length,
    isLast: false,
    momentRows: 0,
    isWithinMoment: false,
  };
}

it('names the rows of the page before and the last ones of the page, from memory as from the mirror', () => {
  const { db } = openTestMirror();
  const add = db.prepare(`INSERT INTO persons (row_key, uuid, first_seen_pass, changed_at) VALUES (?, ?, 1, '')`);
  db.transaction(() => {
    for (let rowKey = 1; rowKey <= 400; rowKey += 1) add.run(rowKey, uuid(rowKey));
  })();
  const begin = (): ReturnType<typeof prepareNameKnown> =>
    prepareNameKnown(db, 'persons', prepareFindRowKey(db, 'persons'));
  const going = begin();
  /** From which row to which a page names its rows; every other row keeps its stand-in. */
  const named = (nameKnown: typeof going, view: PageView, previous: AcceptedPage | null): number[] => {
    const { keys } = nameKnown(view, previous);
    const rowKeys = view.keys.map((key) => Number(key.slice(1)));
    expect(keys.every((key, place) => [uuid, standIn].some((of) => of(rowKeys[place] ?? 0) === key))).toBe(true);
    return rowKeys.filter((rowKey, place) => keys[place] === uuid(rowKey));
  };
  const span = (from: number, to: number): number[] =>
    Array.from({ length: to - from + 1 }, (_, index) => from + index);
  expect(named(going, pageOf(1, 200), null)).toEqual(span(101, 200));
  for (const nameKnown of [going, begin()])
    expect(named(nameKnown, pageOf(190, 400), accepted(101, 200))).toEqual([...span(190, 200), ...span(301, 400)]);
  // The page before is not the one that was named last.
  expect(named(going, pageOf(90, 300), accepted(1, 100))).toEqual([...span(90, 100), ...span(201, 300)]);
});
