import type { Database } from 'better-sqlite3';

/** Does work in one transaction, while no other process writes. */
export function transact<T>(db: Database, work: () => T): T {
  return db.transaction(work).immediate();
}

/** Runs statements that throw `SQLITE_BUSY` after so many milliseconds, where others wait longer for another process. */
export function waitingAtMost<T>(db: Database, waitMs: number, act: () => T): T {
  const timeoutMs = Number(db.pragma('busy_timeout', { simple: true }));
  db.pragma(`busy_timeout = ${waitMs}`);
  try {
    return act();
  } finally {
    db.pragma(`busy_timeout = ${timeoutMs}`);
  }
}
