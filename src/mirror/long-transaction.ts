import { statSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { pausing, type Pause } from '../core/pausing.ts';
import { logBytesKept } from './database.ts';
import { copyLogBack } from './run-query.ts';

/**
 * One transaction in which other work goes on. What that work writes over the same connection, such as the beat of the
 * lease, becomes part of the transaction; another process waits. When `act` throws or the signal is aborted, nothing is done.
 * A write-ahead log that has more than `logBytesMax` then is copied back by another process: it takes seconds.
 */
export async function longTransaction<T>(
  db: Database,
  signal: AbortSignal,
  act: (pause: Pause) => Promise<T>,
  logBytesMax = 2 * logBytesKept,
): Promise<T> {
  const checkpointPages = Number(db.pragma('wal_autocheckpoint', { simple: true }));
  db.exec(/*sql*/ `BEGIN IMMEDIATE`);
  try {
    const result = await act(pausing(signal));
    db.pragma('wal_autocheckpoint = 0');
    db.exec(/*sql*/ `COMMIT`);
    // It is done, whatever becomes of the log: later transactions copy it back too.
    if (statSync(`${db.name}-wal`).size > logBytesMax) await copyLogBack(db, signal).catch(() => undefined);
    return result;
  } catch (error) {
    // A full disk may have ended it.
    if (db.inTransaction) db.exec(/*sql*/ `ROLLBACK`);
    throw error;
  } finally {
    db.pragma(`wal_autocheckpoint = ${checkpointPages}`);
  }
}
