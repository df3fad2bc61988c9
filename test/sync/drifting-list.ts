import { placeUntimed, type PageView } from '../../src/sync/seam.ts';
import type { Window } from '../../src/sync/walk-state.ts';

/** What may happen to a list between two requests. Places are fractions of the list, so that they always fit. */
export type Drift =
  | { kind: 'create'; count: number }
  | { kind: 'delete'; at: number }
  | { kind: 'burst'; at: number; count: number }
  | { kind: 'merge'; loser: number; survivor: number }
  | { kind: 'lose'; at: number; count: number }
  | { kind: 'quiet' };

/** How many rows are of one moment, and in which order the service shows them. */
export type Moments = {
  /** Rows of each moment. */
  rows: number;
  /** So many of the oldest rows are of one moment. */
  oldest: number;
  /** The order of rows of one moment: kept; another on each page; another in the list at each answer. */
  order: 'kept' | 'by page' | 'by answer';
};

/** How a list is served. */
export type Serving = {
  /** More rows than this are not served at once, without a word. */
  cap: number;
  /** Whether a full last page leads to one more, empty page. */
  hasEmptyLastPage: boolean;
  count: 'right' | 'missing' | 'wrong';
  /** Whether a page tells where the next one begins. */
  tellsNext: boolean;
  /** Of how many rows in ten the time cannot be read. */
  untimed: number;
  /** How many rows have no time at all, and where the service sorts these. */
  timeless: { rows: number; at: 'top' | 'end' };
  moments: Moments;
};

/** A list that is served as it is, but for its cap and its moments. It says where the next page begins, and no count. */
export const plainServing: Omit<Serving, 'cap' | 'moments'> = {
  hasEmptyLastPage: false,
  tellsNext: true,
  count: 'missing',
  untimed: 0,
  timeless: { rows: 0, at: 'end' },
};

type Row = { key: string; time: bigint; isUntimed: boolean; isLost: boolean };

/**
 * A list that is newest first and changes while it is paged, as a live service's do: it is served from two stores that
 * do not quite agree, so some of its positions hold no row that is ever shown.
 */
export class DriftingList {
  /** Rows that have been there, and could be seen, since the list was made. */
  readonly stable: Set<string>;
  private rows: Row[];
  private newest: bigint;
  private created = 0;
  private readonly serving: Serving;
  private readonly random: () => number;
  /** The place of rows without a time in the order of times. */
  private readonly timeless: bigint;

  constructor(size: number, serving: Serving) {
    this.serving = serving;
    const { rows, oldest } = serving.moments;
    this.random = xorshift(size + rows);
    this.newest = BigInt(size) * 10n;
    const { timeless } = serving;
    this.timeless = timeless.at === 'top' ? 1_000_000_000n : -1n;
    const isTimeless = (index: number): boolean =>
      timeless.at === 'top' ? index < timeless.rows : index >= size - timeless.rows;
    this.rows = Array.from({ length: size }, (_value, index) => ({
      key: `row-${index}`,
      isUntimed: isTimeless(index) || this.isUntimed(index),
      time: isTimeless(index)
        ? this.timeless
        : this.newest - BigInt(Math.floor(Math.min(index, Math.max(0, size - oldest)) / rows)) * 10n,
      isLost: false,
    }));
    this.stable = new Set(this.rows.map(({ key }) => key));
  }

  apply(drift: Drift): void {
    switch (drift.kind) {
      case 'create':
        for (let index = 0; index < drift.count; index += 1) {
          this.newest += 10n;
          this.created += 1;
          const isUntimed = this.isUntimed(this.created);
          const row = { key: `new-${this.created}`, time: this.newest, isUntimed, isLost: false };
          this.rows.splice(this.rows.filter(({ time }) => time > this.newest).length, 0, row);
        }
        break;
      case 'delete':
        this.remove(this.place(drift.at), 1);
        break;
      case 'burst':
        this.remove(this.place(drift.at), drift.count);
        break;
      case 'merge':
        this.merge(this.place(drift.loser), this.place(drift.survivor));
        break;
      case 'lose':
        for (const row of this.rows.slice(Math.max(0, this.place(drift.at))).slice(0, drift.count)) {
          row.isLost = true;
          this.stable.delete(row.key);
        }
        break;
      case 'quiet':
        break;
    }
  }

  page({ offset, limit }: Window): PageView {
    const end = offset + Math.min(limit, this.serving.cap);
    const { order } = this.serving.moments;
    const list = order === 'by answer' ? this.shuffleMoments(this.rows) : this.rows;
    const selected = list.slice(offset, end).filter(({ isLost }) => !isLost);
    const rows = order === 'by page' ? this.shuffleMoments(selected) : selected;
    const isLast = this.serving.hasEmptyLastPage ? end > this.rows.length : end >= this.rows.length;
    const counts = { right: this.rows.length, wrong: Math.floor(this.rows.length / 3), missing: null };
    return {
      keys: rows.map(({ key }) => key),
      times: placeUntimed(rows.map((row) => (row.isUntimed ? undefined : row.time))),
      received: rows.length,
      isLast,
      nextOffset: isLast || !this.serving.tellsNext ? null : end,
      count: counts[this.serving.count],
    };
  }

  /** The rows in their order, and those of one moment in any. */
  private shuffleMoments(rows: readonly Row[]): Row[] {
    const shuffled: Row[] = [];
    let first = 0;
    for (const [at, row] of rows.entries()) {
      if (row.time !== rows[first]?.time) first = at;
      const drawn = first + Math.floor(this.random() * (at - first + 1));
      shuffled.push(shuffled[drawn] ?? row);
      shuffled[drawn] = row;
    }
    return shuffled;
  }

  private isUntimed(number: number): boolean {
    // Runs of such rows, and single ones.
    return Math.floor(number / (1 + (number % 3))) % 10 < this.serving.untimed;
  }

  private place(fraction: number): number {
    return Math.min(this.rows.length - 1, Math.floor(fraction * this.rows.length));
  }

  private remove(at: number, count: number): void {
    if (at < 0) return;
    for (const { key } of this.rows.splice(at, count)) this.stable.delete(key);
  }

  /** The survivor takes the older of both times, and so moves towards the end of the list. */
  private merge(loserPlace: number, survivorPlace: number): void {
    const loser = this.rows[loserPlace];
    const survivor = this.rows[survivorPlace];
    if (!loser || !survivor || loser === survivor) return;
    const time = loser.time < survivor.time ? loser.time : survivor.time;
    this.stable.delete(loser.key);
    this.rows = this.rows
      .filter((row) => row !== loser && row !== survivor)
      .concat({ ...survivor, time, isUntimed: survivor.isUntimed || time === this.timeless })
      .toSorted((a, b) => (a.time === b.time ? 0 : a.time > b.time ? -1 : 1));
  }
}

/** Numbers from 0 to 1, the same for each seed. */
function xorshift(seed: number): () => number {
  let state = (seed + 1) * 2_654_435_761;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
