import type { Database } from 'better-sqlite3';

/**
 * Notes that the file may still hold what was deleted, until it is purged. Call it in the transaction that deletes: then
 * no kill, and no reader that holds the old pages, can make anybody forget it. For what is deleted under a request's
 * target `mirror`, that target stands.
 */
export function markPurgeOwed(db: Database): void {
  db.prepare(/*sql*/ `UPDATE purge_owed SET marked = marked + 1`).run();
}

/** Whether something was deleted since the last purge that was done. */
export function isPurgeOwed(db: Database): boolean {
  return db.prepare<[], number>(/*sql*/ `SELECT marked > purged FROM purge_owed`).pluck().get() === 1;
}

/** Prepares the note that a purge which begins now is done: what is deleted until then is owed all the same. */
export function beginPurge(db: Database): () => void {
  const marked = db.prepare<[], number>(/*sql*/ `SELECT marked FROM purge_owed`).pluck().get();
  return () =>
    void db.prepare(/*sql*/ `UPDATE purge_owed SET purged = ? WHERE purged < ?`).run(marked, marked);
}
