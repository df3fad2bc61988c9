import type { Database } from 'better-sqlite3';
import { clockStepMs, type Clock } from '../core/clock.ts';
import { systemCode } from '../core/errors.ts';
import type { Lane } from '../contract/datasets.ts';
import { prepared } from './prepared.ts';
import { transact } from './transact.ts';

/**
 * How the times in a mirror are kept. `ms`, `requests`: what can still count; `timeoutMs`: when a request ends at the latest;
 * `readPace`: reads the JSON of the pace, undefined where none is kept.
 */
type Kept<Pace> = {
  ms: number;
  requests: Readonly<Record<Lane, number>>;
  timeoutMs: number;
  readPace: (text: string | undefined) => Pace;
};

/** Who finds the mirror locked looks again so soon, and for so long, in milliseconds. A fence of very many identifiers locks it for minutes. */
const [lockedLookMs, lockedPatienceMs] = [50, 300_000];

/**
 * The times in a mirror, over a connection of their own, for all processes that use it. A request whose process died ends with
 * its time out. A lock is waited for without standing still: it may be that of another project's job in this very process, which could
 * not go on.
 */
export function openRequestTimes<Pace>(
  db: Database,
  clock: Clock,
  { ms: keptMs, requests, timeoutMs, readPace }: Kept<Pace>,
) {
  // Losing the last of them in a power cut is no loss, and waiting for the disk twice a request would be.
  db.pragma('synchronous = NORMAL');
  db.pragma('busy_timeout = 0');
  let lockedSinceMs: number | undefined;
  /** What `act` returns; how long to wait where the mirror is locked. Throws where it has been for very long. */
  const unlessLocked = <T>(act: () => T): T | number => {
    try {
      const done = act();
      lockedSinceMs = undefined;
      return done;
    } catch (error) {
      if (systemCode(error)?.startsWith('SQLITE_BUSY') !== true) throw error;
      lockedSinceMs ??= clock.now();
      if (clock.now() > lockedSinceMs + lockedPatienceMs) throw error;
      return lockedLookMs;
    }
  };
  const onceUnlocked = async (act: () => void): Promise<void> => {
    for (;;) {
      const waitMs = unlessLocked(act);
      if (waitMs === undefined) return;
      await clock.sleep(waitMs);
    }
  };
  const forget = db.prepare(/*sql*/ `DELETE FROM request_times WHERE ended_at_ms < ?`);
  const setBack = db.prepare(/*sql*/ `UPDATE request_times SET ended_at_ms = @nowMs + is_under_way * @timeoutMs
      WHERE ended_at_ms > @nowMs AND ended_at_ms > @nowMs + is_under_way * @timeoutMs`);
  const columns = /*sql*/ `min(ended_at_ms, @nowMs) FROM request_times`;
  const newestFirst = /*sql*/ `ORDER BY ended_at_ms DESC LIMIT @most`;
  const latest = db.prepare<object, number>(/*sql*/ `SELECT ${columns} ${newestFirst}`).pluck();
  const latestOfLane = db
    .prepare<object, number>(/*sql*/ `SELECT ${columns} WHERE lane = @lane ${newestFirst}`)
    .pluck();
  const begin = db.prepare(/*sql*/ `INSERT INTO request_times (lane, is_under_way, ended_at_ms) VALUES (?, 1, ?)`);
  const end = db.prepare(/*sql*/ `UPDATE request_times SET is_under_way = 0, ended_at_ms = @endedAtMs WHERE id = @id`);
  const setPace = db.prepare(/*sql*/ `INSERT INTO request_pace (id, pace) VALUES (1, ?)
      ON CONFLICT (id) DO UPDATE SET pace = excluded.pace`);
  const readAt = (nowMs: number): { nowMs: number; ends: Record<Lane, number[]>; pace: Pace } => {
    const ofLane = (lane: Lane): number[] => latestOfLane.all({ lane, most: requests[lane], nowMs }).toReversed();
    return {
      nowMs,
      ends: {
        general: latest.all({ most: requests.general, nowMs }).toReversed(),
        'recordings list': ofLane('recordings list'),
      },
      pace: readPace(readPaceText(db)),
    };
  };
  const tryToBegin = (
    lane: Lane,
    tooEarlyMs: (reading: ReturnType<typeof readAt>) => number,
  ): (() => Promise<void>) | number => {
    // The clock is read only now: before the wait for other processes, their ends would lie in the future.
    const nowMs = clock.now();
    forget.run(nowMs - keptMs);
    // What ends later than it can (the clock was set back) ends now.
    setBack.run({ nowMs: nowMs + clockStepMs, timeoutMs });
    const waitMs = tooEarlyMs(readAt(nowMs));
    if (waitMs > 0) return waitMs;
    const id = Number(begin.run(lane, nowMs + timeoutMs).lastInsertRowid);
    return () =>
      onceUnlocked(() => {
        // A request that ends after its mirror was closed keeps the latest end that it could have had.
        if (db.open) end.run({ id, endedAtMs: clock.now() + clockStepMs });
      });
  };
  return {
    read: () => Promise.resolve(readAt(clock.now())),
    /** In one transaction, while no other process writes. */
    tryToBegin: async (...given: Parameters<typeof tryToBegin>): Promise<(() => Promise<void>) | number> =>
      Promise.resolve(unlessLocked(() => transact(db, () => tryToBegin(...given)))),
    changePace: (change: (reading: ReturnType<typeof readAt>) => Pace): Promise<void> =>
      onceUnlocked(() => transact(db, () => void setPace.run(JSON.stringify(change(readAt(clock.now())))))),
  };
}

/** What answers 429 have taught those who use this mirror, as JSON; undefined where there was none. */
export function readPaceText(db: Database): string | undefined {
  return prepared<[], { pace: string }>(db, /*sql*/ `SELECT pace FROM request_pace`).get()?.pace;
}

/** How many requests count against a lane's window of `perSeconds` seconds that ends at `nowMs`; against a general one, those of all lanes. */
export function countRequestsWithin(db: Database, lane: Lane, perSeconds: number, nowMs: number): number {
  const sql = /*sql*/ `SELECT count(*) FROM request_times WHERE ended_at_ms > ? AND ? IN ('general', lane)`;
  return (
    db
      .prepare<[number, Lane], number>(sql)
      .pluck()
      .get(nowMs - perSeconds * 1000, lane) ?? 0
  );
}
