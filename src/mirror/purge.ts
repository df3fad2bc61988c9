import { dirname } from 'node:path';
import type { Database } from 'better-sqlite3';
import type { Clock } from '../core/clock.ts';
import { keepTemporaryFiles } from './database.ts';
import { prepared } from './prepared.ts';
import { vacuum } from './run-query.ts';
import { withoutWaiting } from './runs.ts';

const checkpointTries = 50;
const checkpointWaitMs = 100;

/** The steps of a purge. Tests switch each off, to see that it is needed. */
export type PurgeSteps = { statistics: boolean; vacuum: boolean; truncate: boolean };

const everyStep: PurgeSteps = { statistics: true, vacuum: true, truncate: true };

/**
 * Makes what was deleted from the mirror unreadable in its files: `secure_delete` alone leaves values in the unallocated
 * space of live pages, statistics hold samples of keys, and after VACUUM the main file has the old pages until the
 * write-ahead log has been copied back and truncated. Needs as much free disk as the database is large. Returns
 * whether it is done, and owed no longer: false while another process reads, whose view still needs the old pages.
 */
export async function purgeDeleted(
  db: Database,
  clock: Clock,
  signal: AbortSignal,
  steps: PurgeSteps = everyStep,
): Promise<boolean> {
  const endPurge = beginPurge(db);
  if (steps.statistics) emptyStatistics(db);
  // Another project's data folder may have been opened meanwhile.
  keepTemporaryFiles(db, dirname(db.name));
  if (steps.vacuum) await vacuum(db, signal);
  if (!steps.truncate) return true;
  for (let tries = 1; ; tries += 1) {
    if (truncateLog(db)) {
      endPurge();
      return true;
    }
    if (tries === checkpointTries) return false;
    await clock.sleep(checkpointWaitMs, signal);
  }
}

/** Tries once, without waiting for a reader as other statements do: nothing else could run meanwhile. */
function truncateLog(db: Database): boolean {
  return withoutWaiting(db, () => {
    const [result] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    return result?.busy === 0;
  });
}

/** `ANALYZE` copies keys into tables of its own. */
function emptyStatistics(db: Database): void {
  const sql = /*sql*/ `SELECT name FROM sqlite_schema WHERE name IN ('sqlite_stat1', 'sqlite_stat3', 'sqlite_stat4')`;
  const tables = db.prepare<[], string>(sql).pluck().all();
  for (const table of tables) db.exec(/*sql*/ `DELETE FROM ${table}`);
}

/**
 * Notes that the file may still hold what was deleted, until it is purged. Call it in the transaction that deletes: then
 * neither a kill nor a reader that holds the old pages can hide that a purge is owed. For what is deleted under a request's
 * target `mirror`, that target stands.
 */
export function markPurgeOwed(db: Database): void {
  prepared(db, /*sql*/ `UPDATE purge_owed SET marked = marked + 1`).run();
}

/** Whether something was deleted since the last purge that was done. */
export function isPurgeOwed(db: Database): boolean {
  return db.prepare<[], number>(/*sql*/ `SELECT marked > purged FROM purge_owed`).pluck().get() === 1;
}

/** Prepares the note that a purge which begins now is done: what is deleted until then is owed all the same. */
function beginPurge(db: Database): () => void {
  const marked = db.prepare<[], number>(/*sql*/ `SELECT marked FROM purge_owed`).pluck().get();
  return () => void db.prepare(/*sql*/ `UPDATE purge_owed SET purged = ? WHERE purged < ?`).run(marked, marked);
}
