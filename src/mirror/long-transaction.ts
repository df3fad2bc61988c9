import type { Database } from 'better-sqlite3';
import { pausing, type Pause } from '../core/pausing.ts';

/**
 * One transaction in which other work goes on. What that work writes over the same connection, such as the beat of the
 * lease, becomes part of the transaction; another process waits. When `act` throws or the signal is aborted, nothing is done.
 */
export async function longTransaction<T>(
  db: Database,
  signal: AbortSignal,
  act: (pause: Pause) => Promise<T>,
): Promise<T> {
  db.exec(/*sql*/ `BEGIN IMMEDIATE`);
  try {
    const result = await act(pausing(signal));
    db.exec(/*sql*/ `COMMIT`);
    return result;
  } catch (error) {
    // A full disk may have ended it.
    if (db.inTransaction) db.exec(/*sql*/ `ROLLBACK`);
    throw error;
  }
}
