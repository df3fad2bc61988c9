import type { Database } from 'better-sqlite3';
import { refuseStaleHolder } from './lease.ts';

/** How often the fence has grown in this database. An older copy of it has a lower one. */
export function readEpoch(db: Database): number {
  return db.prepare<[], number>(/*sql*/ `SELECT epoch FROM erasure_epoch`).pluck().get() ?? 0;
}

/** Says that the fence now is that of an epoch. Call it in the transaction that made it so. */
export function setEpoch(db: Database, epoch: number): void {
  refuseStaleHolder(db);
  db.prepare(/*sql*/ `UPDATE erasure_epoch SET epoch = ?`).run(epoch);
}

/**
 * Runs `act` while nobody can write to the mirror, if the fence is still that of `epoch`; returns whether it was. `db`
 * is a connection for writing.
 */
export function whileEpoch(db: Database, epoch: number, act: () => void): boolean {
  return db
    .transaction(() => {
      refuseStaleHolder(db);
      if (readEpoch(db) !== epoch) return false;
      act();
      return true;
    })
    .immediate();
}
