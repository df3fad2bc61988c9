import type { Database } from 'better-sqlite3';
import type { Lane } from '../contract/datasets.ts';

/** The times in a mirror, over a connection of their own. A request whose process died ends with its time out. */
export function openRequestTimes(db: Database, requestTimeoutMs: number) {
  // Losing the last of them in a power cut is no loss, and waiting for the disk twice a request would be.
  db.pragma('synchronous = NORMAL');
  const forget = db.prepare(/*sql*/ `DELETE FROM request_times WHERE ended_at_ms < ?`);
  const setBack = db.prepare(/*sql*/ `UPDATE request_times SET ended_at_ms = @nowMs + is_under_way * @requestTimeoutMs
      WHERE ended_at_ms > @nowMs AND ended_at_ms > @nowMs + is_under_way * @requestTimeoutMs`);
  const columns = /*sql*/ `min(ended_at_ms, @nowMs) FROM request_times`;
  const newestFirst = /*sql*/ `ORDER BY ended_at_ms DESC LIMIT @most`;
  const latest = db.prepare<object, number>(/*sql*/ `SELECT ${columns} ${newestFirst}`).pluck();
  const latestOfLane = db
    .prepare<object, number>(/*sql*/ `SELECT ${columns} WHERE lane = @lane ${newestFirst}`)
    .pluck();
  const begin = db.prepare(/*sql*/ `INSERT INTO request_times (lane, is_under_way, ended_at_ms) VALUES (?, 1, ?)`);
  const end = db.prepare(/*sql*/ `UPDATE request_times SET is_under_way = 0, ended_at_ms = @endedAtMs WHERE id = @id`);
  return {
    /** Does `work` in one transaction, while no other process writes. */
    atomically: <T>(work: () => T): T => db.transaction(work).immediate(),
    /** Forgets what ended before `oldestMs`. What ends later than it can (the clock was set back) ends at `nowMs`. */
    confine: (oldestMs: number, nowMs: number): void => {
      forget.run(oldestMs);
      setBack.run({ nowMs, requestTimeoutMs });
    },
    /** When the latest requests ended, at most `most`, oldest first: those of one lane, or of all. None is after `nowMs`. */
    latest: (lane: Lane | undefined, most: number, nowMs: number): number[] =>
      (lane === undefined ? latest.all({ most, nowMs }) : latestOfLane.all({ lane, most, nowMs })).toReversed(),
    begin: (lane: Lane, nowMs: number): number => Number(begin.run(lane, nowMs + requestTimeoutMs).lastInsertRowid),
    end: (id: number, endedAtMs: number): void => {
      // A request that ends after its mirror was closed keeps the latest end that it could have had.
      if (db.open) end.run({ id, endedAtMs });
    },
  };
}

/** How many requests of a lane ended in each minute of the hour before `nowMs`, the oldest minute first. */
export function requestsByMinute(db: Database, lane: Lane, nowMs: number): number[] {
  const sql = /*sql*/ `SELECT CAST((@nowMs - min(ended_at_ms, @nowMs)) / 60000 AS INTEGER) AS minutesAgo,
      count(*) AS requests FROM request_times WHERE lane = @lane AND ended_at_ms > @nowMs - 3600000 GROUP BY minutesAgo`;
  const rows = db.prepare<object, { minutesAgo: number; requests: number }>(sql).all({ lane, nowMs });
  const minutes = Array.from({ length: 60 }, () => 0);
  for (const { minutesAgo, requests } of rows) minutes[59 - minutesAgo] = requests;
  return minutes;
}

/** How many requests count against a window of `perSeconds` seconds that ends at `nowMs`: those of one lane, or of all. */
export function countRequestsWithin(db: Database, lane: Lane | undefined, perSeconds: number, nowMs: number): number {
  return (
    db
      .prepare<[number, string | null, string | null], number>(
        /*sql*/ `SELECT count(*) FROM request_times WHERE ended_at_ms > ? AND (? IS NULL OR lane = ?)`,
      )
      .pluck()
      .get(nowMs - perSeconds * 1000, lane ?? null, lane ?? null) ?? 0
  );
}
