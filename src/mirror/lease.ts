import type { Database } from 'better-sqlite3';
import { AppError } from '../core/errors.ts';

/** Who holds the right to write. Times are ISO 8601 UTC. */
export type LeaseHolder = {
  holder: string;
  job: string;
  host: string;
  pid: number;
  takenAt: string;
  beatAt: string;
};

const columns = /*sql*/ `holder, job, host, pid, taken_at AS takenAt, beat_at AS beatAt`;

/** The present holder, if there is one. */
export function readLease(db: Database): LeaseHolder | undefined {
  return db.prepare<[], LeaseHolder>(/*sql*/ `SELECT ${columns} FROM lease`).get();
}

/** The tokens under which connections of this process hold the lease. */
const tokens = new WeakMap<Database, number>();

/**
 * Takes the lease when nobody holds it, or when `isStale` says so of its holder. Returns whoever holds it now. Each
 * time it is taken it has a greater token, by which what this connection writes is known from what a holder before it
 * would still write.
 */
export function takeLease(
  db: Database,
  wanted: LeaseHolder,
  isStale: (present: LeaseHolder) => boolean,
): LeaseHolder {
  return db
    .transaction(() => {
      const present = readLease(db);
      if (present && !isStale(present)) return present;
      db.prepare(/*sql*/ `INSERT OR REPLACE INTO lease (only_row, holder, job, host, pid, taken_at, beat_at)
        VALUES (1, @holder, @job, @host, @pid, @takenAt, @beatAt)`).run(wanted);
      const token = db
        .prepare<[], number>(/*sql*/ `UPDATE lease_token SET token = token + 1 RETURNING token`)
        .pluck()
        .get();
      if (token === undefined) throw new Error('the mirror has no token for its lease');
      tokens.set(db, token);
      return wanted;
    })
    .immediate();
}

/** Says that the holder lives. Returns whether it still holds the lease. */
export function beatLease(db: Database, holder: string, at: string): boolean {
  return db.prepare(/*sql*/ `UPDATE lease SET beat_at = ? WHERE holder = ?`).run(at, holder).changes === 1;
}

/**
 * Called in the transaction of every write of a job. Throws `busy` when this connection held the lease and somebody has taken it over since: whatever belongs to the
 * same transaction is then not written. A connection that never held it is let pass.
 */
export function refuseStaleHolder(db: Database): void {
  const held = tokens.get(db);
  if (held === undefined) return;
  const present = db.prepare<[], number>(/*sql*/ `SELECT token FROM lease_token`).pluck().get();
  if (present !== held)
    throw new AppError('another run took the data folder over', {
      code: 'busy',
      hint: 'run only one at a time',
    });
}

/** Gives the lease back; nothing happens when somebody else holds it. */
export function releaseLease(db: Database, holder: string): void {
  tokens.delete(db);
  db.prepare(/*sql*/ `DELETE FROM lease WHERE holder = ?`).run(holder);
}
