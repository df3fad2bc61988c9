import type { Window, PageView } from '../../src/sync/walk-plan.ts';

/** One row of the model list. */
export type ModelRow = { key: string; time: bigint };

/** What may happen to a list between two requests. Places are fractions of the list, so that they always fit. */
export type Drift =
  | { kind: 'create'; count: number }
  | { kind: 'delete'; at: number }
  | { kind: 'burst'; at: number; count: number }
  | { kind: 'merge'; loser: number; survivor: number }
  | { kind: 'quiet' };

/** A list that is newest first and changes while it is paged, as the service's do. */
export class DriftingList {
  rows: ModelRow[];
  /** Rows that have been there since the list was made. */
  readonly stable: Set<string>;
  private newest: bigint;
  private created = 0;

  constructor(size: number) {
    this.newest = BigInt(size) * 10n;
    this.rows = Array.from({ length: size }, (_value, index) => ({
      key: `row-${index}`,
      // Some neighbours are of the same moment.
      time: this.newest - BigInt(Math.floor(index / 2)) * 10n,
    }));
    this.stable = new Set(this.rows.map(({ key }) => key));
  }

  apply(drift: Drift): void {
    switch (drift.kind) {
      case 'create':
        for (let index = 0; index < drift.count; index += 1) {
          this.newest += 10n;
          this.created += 1;
          this.rows.unshift({ key: `new-${this.created}`, time: this.newest });
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
      case 'quiet':
        break;
    }
  }

  page({ offset, limit }: Window): PageView {
    const rows = this.rows.slice(offset, offset + limit);
    const end = offset + limit;
    return {
      keys: rows.map(({ key }) => key),
      times: rows.map(({ time }) => time),
      isLast: end >= this.rows.length,
      nextOffset: end >= this.rows.length ? null : end,
      count: this.rows.length,
    };
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
      .concat({ key: survivor.key, time })
      .toSorted((a, b) => (a.time === b.time ? 0 : a.time > b.time ? -1 : 1));
  }
}
