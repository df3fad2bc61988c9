import type { Database } from 'better-sqlite3';
import type { PagedDataset } from '../contract/datasets.ts';
import { isoTime } from '../core/clock.ts';
import type { Present } from '../core/present.ts';

/** For so long the service's own deletions are added up: a list that loses a little each day is held as one that loses it at once. */
export const departureDays = 7;

const dayMs = 86_400_000;

/** Prepares the count of a row that left by the service's own deletion, and that nobody had approved. Call it where the row leaves. */
export function prepareCountDeparture(db: Database, dataset: PagedDataset): (at: string) => void {
  const add = db.prepare(/*sql*/ `INSERT INTO departures (dataset, day, rows) VALUES (?, ?, 1)
    ON CONFLICT DO UPDATE SET rows = rows + 1`);
  return (at) => void add.run(dataset, at.slice(0, 10));
}

/** How many rows of a dataset left so within `departureDays` before the present, days of a clock that was ahead included. */
export function countDepartures(
  db: Database,
  dataset: PagedDataset,
  { earliestMs }: Pick<Present, 'earliestMs'>,
): number {
  const since = isoTime(earliestMs - departureDays * dayMs).slice(0, 10);
  const sql = /*sql*/ `SELECT coalesce(sum(rows), 0) FROM departures WHERE dataset = ? AND day > ?`;
  return db.prepare<[string, string], number>(sql).pluck().get(dataset, since) ?? 0;
}
