import { dirname } from 'node:path';
import type { Database } from 'better-sqlite3';
import type { Clock } from '../core/clock.ts';
import { keepTemporaryFiles } from './database.ts';
import { prepared } from './prepared.ts';
import { vacuum } from './run-query.ts';
import { transact, waitingAtMost } from './transact.ts';

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
  return !steps.truncate || endOfLog(db, clock, signal, endPurge);
}

/**
 * Purges what is owed, as `purgeDeleted` does: the whole file, or only the tables of requests while those are small. Returns
 * whether nothing is owed any more.
 */
export async function purgeOwed(db: Database, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const owed = prepared<[], { file: number; requests: number; bytes: number }>(
    db,
    /*sql*/ `SELECT marked > purged AS file, requests_marked > requests_purged AS requests,
        (SELECT coalesce(sum(octet_length(encrypted)), 0) FROM box_parts) AS bytes FROM purge_owed`,
  ).get();
  if (!owed || owed.file + owed.requests === 0) return true;
  if (owed.file === 1 || owed.bytes > boxBytesMax) return purgeDeleted(db, clock, signal);
  const endPurge = beginPurge(db, ['requests_']);
  keepTemporaryFiles(db, dirname(db.name));
  rewriteRequests(db);
  return endOfLog(db, clock, signal, endPurge);
}

/** More than these are not written in this process: VACUUM runs apart. */
const boxBytesMax = 16_000_000;
const requestTables = ['erasure_requests', 'box_parts'];

/**
 * Writes the tables of requests again: a table that is emptied as a whole gives its pages back, which `secure_delete` fills with
 * zeros. So nothing is left in the gaps of their pages. Costs as much as there are requests, and VACUUM as the whole mirror.
 */
function rewriteRequests(db: Database): void {
  // With foreign keys or triggers, rows would be deleted one by one, and counted as received once more.
  db.pragma('foreign_keys = OFF');
  try {
    transact(db, () => {
      for (const table of requestTables) {
        const triggers = db
          .prepare<[string], { name: string; sql: string }>(
            /*sql*/ `SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?`,
          )
          .all(table);
        for (const { name } of triggers) db.exec(/*sql*/ `DROP TRIGGER ${name}`);
        // Every column, whichever a migration adds.
        db.exec(/*sql*/ `CREATE TEMP TABLE kept AS SELECT * FROM main.${table};
          DELETE FROM main.${table};
          INSERT INTO main.${table} SELECT * FROM kept;
          DROP TABLE kept`);
        for (const { sql } of triggers) db.prepare(sql).run();
      }
    });
  } finally {
    db.pragma('foreign_keys = ON');
  }
}

/** Copies the log back and empties it. Returns whether it could, before `end` was called. */
async function endOfLog(db: Database, clock: Clock, signal: AbortSignal, end: () => void): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    if (truncateLog(db)) {
      end();
      return true;
    }
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

/** Where a purge is owed: anywhere in the file, or only in the tables of requests. */
type PurgePlace = '' | 'requests_';

/**
 * Notes that the file may still hold what was deleted, until it is purged. Call it in the transaction that deletes: then
 * neither a kill, nor a reader that holds the old pages, nor an older copy of the file can hide that a purge is owed.
 */
export function markPurgeOwed(db: Database, place: PurgePlace = ''): void {
  prepared(db, /*sql*/ `UPDATE purge_owed SET ${place}marked = ${place}marked + 1`).run();
}

/** Prepares the note that a purge which begins now is done: what is deleted until then is owed all the same. */
function beginPurge(db: Database, places: readonly PurgePlace[] = ['', 'requests_']): () => void {
  const marked = db.prepare<[], Record<string, number>>(/*sql*/ `SELECT marked, requests_marked FROM purge_owed`).get();
  const done = places.map((place) => `${place}purged = max(${place}purged, @${place}marked)`).join(', ');
  return () => void db.prepare(/*sql*/ `UPDATE purge_owed SET ${done}`).run(marked);
}
