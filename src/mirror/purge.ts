import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Database } from 'better-sqlite3';
import type { Clock } from '../core/clock.ts';
import { keepTemporaryFiles } from './database.ts';
import { prepared } from './prepared.ts';
import { zeroFreeBytes } from './free-bytes.ts';
import { isLarge as isLargeMirror, overwriteApart } from './run-query.ts';
import { transact, waitingAtMost } from './transact.ts';

const checkpointTries = 50;
const checkpointWaitMs = 100;

/** The steps of a purge. Tests switch each off, to see that it is needed. */
export type PurgeSteps = { statistics: boolean; overwrite: boolean; truncate: boolean };

const everyStep: PurgeSteps = { statistics: true, overwrite: true, truncate: true };

/**
 * Makes what was deleted from the mirror unreadable in its files: `secure_delete` alone leaves values in the unallocated
 * space of live pages, statistics hold samples of keys, and the main file has the old pages until the write-ahead log has been
 * copied back and truncated. A small file is written anew; in a large one, the bytes that hold nothing are filled with zeros.
 * Returns whether it is done, and owed no longer: false while another process reads, whose view still needs the old pages.
 */
export async function purgeDeleted(
  db: Database,
  clock: Clock,
  signal: AbortSignal,
  { steps = everyStep, isLarge = isSwept(db) } = {},
): Promise<boolean> {
  // What is deleted from now on is owed all the same.
  const marked = db.prepare<[], number>(/*sql*/ `SELECT marked FROM purge_owed`).pluck().get();
  if (steps.statistics) emptyStatistics(db);
  // Another project's data folder may have been opened meanwhile.
  keepTemporaryFiles(db, dirname(db.name));
  if (steps.overwrite && !isLarge) db.exec(/*sql*/ `VACUUM`);
  if (steps.truncate && !(await hasEmptied(db, clock, signal))) return false;
  // What was written meanwhile is owed by itself: the next purge overwrites what it leaves.
  if (steps.overwrite && isLarge && !(await overwriteApart(db, signal))) return false;
  db.prepare(/*sql*/ `UPDATE purge_owed SET purged = max(purged, ?)`).run(marked);
  return !steps.truncate || hasEmptied(db, clock, signal);
}

/** Whether a mirror is too large to be written anew. One that another tool has set to auto_vacuum has pages of a kind that no sweep knows. */
function isSwept(db: Database): boolean {
  return isLargeMirror(db) && db.pragma('auto_vacuum', { simple: true }) === 0;
}

/** As `purgeDeleted`, where a purge is owed. Returns whether nothing is owed any more. */
export async function purgeOwed(db: Database, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const isOwed = prepared<[], number>(db, /*sql*/ `SELECT marked > purged FROM purge_owed`).pluck().get() === 1;
  return !isOwed || purgeDeleted(db, clock, signal);
}

/**
 * Fills with zeros what a large mirror's file holds of nothing. To be called in a process of its own, which has opened the mirror
 * only by `db`. Returns false while others read or write.
 */
export function overwriteDeleted(db: Database): boolean {
  if (!truncateLog(db)) return false;
  return transact(db, () => {
    // Somebody wrote in between.
    if (statSync(`${db.name}-wal`).size > 0) return false;
    const roots = db.prepare<[], number>(/*sql*/ `SELECT rootpage FROM sqlite_schema WHERE rootpage > 0`).pluck();
    zeroFreeBytes(db.name, roots.all());
    // Others hold old pages in memory. After a change they read them again.
    db.prepare(/*sql*/ `UPDATE purge_owed SET purged = purged`).run();
    return true;
  });
}

/** Copies the log back and empties it. Returns whether it could. */
async function hasEmptied(db: Database, clock: Clock, signal: AbortSignal): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    if (truncateLog(db)) return true;
    if (tries === checkpointTries) return false;
    await clock.sleep(checkpointWaitMs, signal);
  }
}

/** Tries once, without waiting for a reader as other statements do: nothing else could run meanwhile. */
function truncateLog(db: Database): boolean {
  return waitingAtMost(db, 0, () => {
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
 * neither a kill, nor a reader that holds the old pages, nor an older copy of the file can hide that a purge is owed.
 */
export function markPurgeOwed(db: Database): void {
  prepared(db, /*sql*/ `UPDATE purge_owed SET marked = marked + 1`).run();
}
