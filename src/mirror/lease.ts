import type { Database } from 'better-sqlite3';

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

/** Takes the lease when nobody holds it, or when `isStale` says so of its holder. Returns whoever holds it now. */
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
      return wanted;
    })
    .immediate();
}

/** Says that the holder lives. Returns whether it still holds the lease. */
export function beatLease(db: Database, holder: string, at: string): boolean {
  return db.prepare(/*sql*/ `UPDATE lease SET beat_at = ? WHERE holder = ?`).run(at, holder).changes === 1;
}

/** Gives the lease back; nothing happens when somebody else holds it. */
export function releaseLease(db: Database, holder: string): void {
  db.prepare(/*sql*/ `DELETE FROM lease WHERE holder = ?`).run(holder);
}
