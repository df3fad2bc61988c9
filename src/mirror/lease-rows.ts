import { systemCode } from '../core/errors.ts';
import type { Database } from './database.ts';
import { prepared } from './prepared.ts';
import { waitingAtMost } from './transact.ts';

/** A run that has the right to write, as others are told of it. Times are ISO 8601 UTC. */
export type LeaseHolder = { holder: string; job: string; host: string; pid: number; takenAt: string };

/** A run that waits for it. `hasBegun`: a pass that has given way, so that its run is under way. */
export type Waiter = LeaseHolder & { beatAt: string; hasBegun: boolean };

/** The holder that took the lease last and has not given it back. The lock tells whether it still has it. */
export function readLease(db: Database): LeaseHolder | undefined {
  const sql = /*sql*/ `SELECT holder, job, host, pid, taken_at AS takenAt FROM lease`;
  return prepared<[], LeaseHolder>(db, sql).get();
}

/** Tells others who has the lease. Only the holder of the lock calls this. */
export function writeLease(db: Database, holder: LeaseHolder): void {
  const sql = /*sql*/ `INSERT OR REPLACE INTO lease (only_row, holder, job, host, pid, taken_at)
      VALUES (1, @holder, @job, @host, @pid, @takenAt)`;
  prepared<[LeaseHolder]>(db, sql).run(holder);
}

/** Tells others that a holder has it no more. */
export function removeLease(db: Database, holder: string): void {
  prepared<[string]>(db, /*sql*/ `DELETE FROM lease WHERE holder = ?`).run(holder);
}

/** Who waits for the lease, in the order of coming. One cheap look: mostly nobody does. */
export function readQueue(db: Database): Waiter[] {
  const sql = /*sql*/ `SELECT holder, job, host, pid, taken_at AS takenAt, beat_at AS beatAt,
      has_begun AS hasBegun FROM lease_queue ORDER BY place`;
  const rows = prepared<[], Omit<Waiter, 'hasBegun'> & { hasBegun: 0 | 1 }>(db, sql).all();
  return rows.map((row) => Object.assign(row, { hasBegun: row.hasBegun === 1 }));
}

/** Other processes write in between: so long may a place in the queue wait for them. A VACUUM takes longer, and ends. */
const placeWaitMs = 1_000;
const beatEveryMs = 5_000;

/**
 * Takes a place at the end of the queue, or says in the one that is held that the waiter lives. Where another process writes
 * meanwhile, this may do nothing: call it again and again.
 */
export function standInQueue(db: Database, waiter: Waiter): void {
  const present = readQueue(db).find(({ holder }) => holder === waiter.holder);
  if (present && Math.abs(Date.parse(waiter.beatAt) - Date.parse(present.beatAt)) < beatEveryMs) return;
  unlessBusy(db, present ? 0 : placeWaitMs, () => enterQueue(db, waiter));
}

/** Gives up a place, unless another process writes for long: nobody waits for whoever is silent. */
export function giveUpPlace(db: Database, holder: string): void {
  if (!db.open || !readQueue(db).some((waiter) => waiter.holder === holder)) return;
  unlessBusy(db, placeWaitMs, () => leaveQueue(db, [holder]));
}

function unlessBusy(db: Database, waitMs: number, act: () => void): void {
  try {
    waitingAtMost(db, waitMs, act);
  } catch (error) {
    if (systemCode(error)?.startsWith('SQLITE_BUSY') !== true) throw error;
  }
}

/** Takes a place at the end of the queue, or renews the one that is held. */
export function enterQueue(db: Database, waiter: Waiter): void {
  const sql = /*sql*/ `INSERT INTO lease_queue (holder, job, host, pid, taken_at, beat_at, has_begun)
      VALUES (@holder, @job, @host, @pid, @takenAt, @beatAt, @begun)
      ON CONFLICT (holder) DO UPDATE SET beat_at = excluded.beat_at`;
  prepared(db, sql).run({ ...waiter, begun: waiter.hasBegun ? 1 : 0 });
}

/** Gives up the places of these. */
export function leaveQueue(db: Database, holders: readonly string[]): void {
  const leave = prepared<[string]>(db, /*sql*/ `DELETE FROM lease_queue WHERE holder = ?`);
  for (const holder of holders) leave.run(holder);
}
