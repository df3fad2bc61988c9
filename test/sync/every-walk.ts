import { judgePage, beginWalk } from '../../src/sync/walk-plan.ts';
import { windowsAhead, type WalkPlan } from '../../src/sync/walk-windows.ts';
import { placeUntimed, type PageView } from '../../src/sync/seam.ts';
import type { WalkState, Window } from '../../src/sync/walk-state.ts';

/** A small world: every list of so many rows, and everything that may happen between the requests of a walk. */
export type SmallWorld = {
  rows: number;
  changesMax: number;
  inFlightMax: 1 | 2;
  serving: Serving;
  judge?: Judge;
  pageSize?: number;
  /** Whether a service may answer windows in another order than they are asked for. */
  isAnyOrder?: boolean;
  /** How many rows of each moment there are. */
  momentRows?: number;
  /** The order of rows of one moment: kept in the list, and turned around on every other page; or another at each answer. */
  order?: 'turned' | 'by answer';
  /** The place of a row that has no time, or none that can be read. */
  untimed?: number;
  /** The most rows of a window. */
  widestRows?: number;
  /** Ends with the first walk that misses a row: for walks that are wrong, of which there may be very many. */
  isSearch?: boolean;
};

/** What the service says beside its rows, and whether what it says of the end follows the offset asked for or its own. */
export type Serving = 'count and next' | 'next' | 'has_next';

export type Judge = typeof judgePage;

/** What all walks of a world came to. `missing` is the first walk that says complete and has missed a row. */
export type EveryWalk = {
  walks: number;
  pages: number;
  complete: number;
  reasons: Record<string, number>;
  wrong: number;
  missing: string | undefined;
  requestsMost: number;
};

/** A request, and its answer once it has come. */
type Flight = { window: Window; view: PageView | null };

type Row = { key: string; time: bigint };
type Change =
  | { kind: 'delete'; at: number }
  | { kind: 'insert'; at: number }
  | { kind: 'merge'; survivor: number; loser: number };

type World = {
  list: readonly Row[];
  /** Rows that have been in the list, and shown, all the time. */
  stable: ReadonlySet<string>;
  inserted: number;
  lastAnswer: PageView | null;
};

/** Walks every walk that there is in a small world. */
export function everyWalk({
  rows,
  changesMax,
  inFlightMax,
  serving,
  judge = judgePage,
  momentRows = 1,
  order = 'turned',
  untimed = -1,
  pageSize = 3,
  widestRows = 16 * pageSize,
  isSearch = false,
  isAnyOrder = false,
}: SmallWorld): EveryWalk {
  const plan: WalkPlan = { pageSize, widestRows, overlap: 2, windowsMax: 400, restartsMax: 20, roundsMax: 4 };
  const result: EveryWalk = {
    walks: 0,
    pages: 0,
    complete: 0,
    reasons: {},
    wrong: 0,
    missing: undefined,
    requestsMost: 0,
  };
  const list = Array.from({ length: rows }, (_value, index) => ({
    key: `r${index}`,
    time: BigInt((rows - Math.floor(index / momentRows) * momentRows) * 10),
  }));
  const trail: string[] = [];

  const step = (
    state: WalkState,
    world: World,
    flights: readonly Flight[],
    seen: ReadonlySet<string>,
    changesLeft: number,
    requests: number,
  ): void => {
    if (isSearch && result.wrong > 0) return;
    // Which of the requests in flight does the service answer now?
    const wanted = windowsAhead(plan, state, inFlightMax);
    let kept = 0;
    while (kept < flights.length && kept < wanted.length && same(flights[kept]?.window, wanted[kept])) kept += 1;
    const all = wanted.map((window, index) =>
      index < kept ? (flights[index] ?? { window, view: null }) : { window, view: null },
    );
    const first = all[0];
    if (first === undefined) throw new Error('no window');
    const waiting = all.findIndex(({ view }) => view === null);
    if (first.view !== null) {
      // The page may be judged before or after the window behind it is answered.
      if (waiting > 0 && changesLeft > 0) answer(state, world, all, waiting, seen, changesLeft, requests);
      take(state, world, all, first.view, seen, changesLeft, requests);
      return;
    }
    for (const [index, { view }] of all.entries())
      if (view === null && (index === waiting || isAnyOrder))
        answer(state, world, all, index, seen, changesLeft, requests);
  };

  const answer = (
    state: WalkState,
    world: World,
    flights: readonly Flight[],
    index: number,
    seen: ReadonlySet<string>,
    changesLeft: number,
    requests: number,
  ): void => {
    const window = flights[index]?.window;
    if (!window) return;
    const go = (next: World, view: PageView, left: number, what: string): void => {
      trail.push(
        `${index > 0 ? 'ahead ' : ''}@${window.offset}+${window.limit} ${what} -> ${view.keys.join(' ')}${view.isLast ? ' end' : ''}`,
      );
      const after = flights.map((flight, place) => (place === index ? { ...flight, view } : flight));
      step(state, { ...next, lastAnswer: view }, after, seen, left, requests + 1);
      trail.pop();
    };
    const turned = (view: PageView): PageView => (order === 'turned' && requests % 2 === 1 ? turnMoments(view) : view);
    const serve = (at: World, left: number, what: string): void => {
      const lists = order === 'by answer' ? arrangements(at.list) : [at.list];
      const views = new Map(
        lists.map((arranged) => {
          const view = pageOf({ ...at, list: arranged }, window, window.offset);
          return [view.keys.toSorted().join(' '), view];
        }),
      );
      for (const view of views.values()) go(at, turned(view), left, what);
      if (left === 0) return;
      const honest = pageOf(at, window, window.offset);
      // The answer itself is wrong.
      for (let to = 0; to < window.offset; to += 1)
        for (const lies of [true, false]) go(at, pageOf(at, window, to, lies), left - 1, `${what} served from ${to}`);
      if (at.lastAnswer) go(at, at.lastAnswer, left - 1, `${what} repeated`);
      for (const [place, key] of honest.keys.entries()) {
        const hidden = new Set(at.stable);
        hidden.delete(key);
        go({ ...at, stable: hidden }, without(honest, place), left - 1, `${what} without ${key}`);
      }
      if (honest.keys.length > 0) {
        const hidden = new Set([...at.stable].filter((key) => !honest.keys.includes(key)));
        go({ ...at, stable: hidden }, { ...honest, keys: [], times: [], received: 0 }, left - 1, `${what} empty`);
      }
    };
    serve(world, changesLeft, '');
    const drift = (at: World, left: number, what: string): void => {
      if (left === 0) return;
      for (const change of changesOf(at)) {
        const next = applied(at, change);
        const words = `${what}${wordsOf(at, change)}; `;
        serve(next, left - 1, words);
        drift(next, left - 1, words);
      }
    };
    drift(world, changesLeft, '');
  };

  const take = (
    state: WalkState,
    world: World,
    flights: readonly Flight[],
    view: PageView,
    seen: ReadonlySet<string>,
    changesLeft: number,
    requests: number,
  ): void => {
    result.pages += 1;
    const now = new Set(seen);
    for (const key of view.keys) now.add(key);
    const { state: after, ...next } = judge(plan, state, view, now.size - seen.size);
    if (next.next === 'window') {
      step(after, world, flights.slice(1), now, changesLeft, requests);
      return;
    }
    result.walks += 1;
    result.requestsMost = Math.max(result.requestsMost, requests);
    const reason = 'reason' in next ? (next.reason ?? 'complete') : 'complete';
    result.reasons[reason] = (result.reasons[reason] ?? 0) + 1;
    if (reason !== 'complete') return;
    result.complete += 1;
    const missed = [...world.stable].filter((key) => !now.has(key));
    if (missed.length === 0) return;
    result.wrong += 1;
    result.missing ??= `${missed.join(' ')} missed:\n  ${trail.join('\n  ')}`;
  };

  const pageOf = (world: World, window: Window, from: number, lies = false): PageView => {
    const shown = world.list.slice(from, from + window.limit);
    const end = (lies ? window.offset : from) + window.limit;
    const isLast = end >= world.list.length;
    return {
      keys: shown.map(({ key }) => key),
      times: placeUntimed(shown.map(({ key, time }) => (key === `r${untimed}` ? undefined : time))),
      received: shown.length,
      isLast,
      nextOffset: isLast || serving === 'has_next' ? null : window.offset + window.limit,
      count: serving === 'count and next' ? world.list.length : null,
    };
  };

  step(
    beginWalk(plan),
    { list, stable: new Set(list.map(({ key }) => key)), inserted: 0, lastAnswer: null },
    [],
    new Set(),
    changesMax,
    0,
  );
  return result;
}

function changesOf({ list }: World): Change[] {
  // A row is added at the top, or to the moment of another row.
  const changes: Change[] = [{ kind: 'insert', at: -1 }];
  for (let at = 1; at < list.length; at += 1)
    if (list[at]?.time === list[at - 1]?.time) changes.push({ kind: 'insert', at });
  for (let at = 0; at < list.length; at += 1) changes.push({ kind: 'delete', at });
  for (let survivor = 0; survivor < list.length; survivor += 1)
    for (let loser = survivor + 1; loser < list.length; loser += 1) changes.push({ kind: 'merge', survivor, loser });
  return changes;
}

function applied(world: World, change: Change): World {
  const list = [...world.list];
  const stable = new Set(world.stable);
  switch (change.kind) {
    case 'insert': {
      const time = list[change.at]?.time ?? (list[0]?.time ?? 0n) + 1000n;
      list.splice(Math.max(0, change.at), 0, { key: `n${world.inserted}`, time });
      return { ...world, inserted: world.inserted + 1, list };
    }
    case 'delete': {
      const [gone] = list.splice(change.at, 1);
      if (gone) stable.delete(gone.key);
      return { ...world, list, stable };
    }
    case 'merge': {
      const loser = list[change.loser];
      const survivor = list[change.survivor];
      if (!loser || !survivor) return world;
      stable.delete(loser.key);
      list[change.loser] = { key: survivor.key, time: loser.time };
      list.splice(change.survivor, 1);
      return { ...world, list, stable };
    }
  }
}

function wordsOf({ list }: World, change: Change): string {
  if (change.kind === 'delete') return `delete ${list[change.at]?.key}`;
  if (change.kind === 'merge') return `${list[change.survivor]?.key} takes the place of ${list[change.loser]?.key}`;
  return change.at < 0 ? 'insert' : `insert beside ${list[change.at]?.key}`;
}

/** Every order of a list in which rows of one moment may stand. */
function arrangements(list: readonly Row[]): Row[][] {
  const [first] = list;
  if (first === undefined) return [[]];
  const size = list.filter(({ time }) => time === first.time).length;
  const rests = arrangements(list.slice(size));
  return permutations(list.slice(0, size)).flatMap((moment) => rests.map((rest) => moment.concat(rest)));
}

function permutations(rows: readonly Row[]): Row[][] {
  if (rows.length < 2) return [[...rows]];
  return rows.flatMap((row, at) => permutations(rows.toSpliced(at, 1)).map((rest) => [row].concat(rest)));
}

/** The same page, with the rows of each moment in the other order. */
function turnMoments(view: PageView): PageView {
  const places = view.keys.map((_key, place) => place);
  const turned = places.toSorted((a, b) => {
    const [one, other] = [view.times[a] ?? 0n, view.times[b] ?? 0n];
    return one === other ? b - a : one > other ? -1 : 1;
  });
  return { ...view, keys: turned.map((place) => view.keys[place] ?? '') };
}

function without(view: PageView, place: number): PageView {
  const keys = view.keys.filter((_key, index) => index !== place);
  return { ...view, keys, times: view.times.filter((_time, index) => index !== place), received: keys.length };
}

function same(a: Window | undefined, b: Window | undefined): boolean {
  return a !== undefined && b !== undefined && a.offset === b.offset && a.limit === b.limit;
}
