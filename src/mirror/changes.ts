import type { Database } from 'better-sqlite3';
import { refuseStaleHolder } from './lease.ts';

/** A place in the feed of changes: a change's number, and its time (ISO 8601 UTC). */
export type ChangePosition = { seq: number; at: string };

/** The newest change of the mirror; null before the first. */
export function newestChange(db: Database): ChangePosition | null {
  return (
    db.prepare<[], ChangePosition>(/*sql*/ `SELECT seq, at FROM changes ORDER BY seq DESC LIMIT 1`).get() ??
    null
  );
}

/**
 * Whether the feed still has that very change. It may have left the feed with a deletion that has expired there, and in an
 * older copy of the mirror it never was, or is another one.
 */
export function hasChange(db: Database, { seq, at }: ChangePosition): boolean {
  return db.prepare(/*sql*/ `SELECT 1 FROM changes WHERE seq = ? AND at = ?`).get(seq, at) !== undefined;
}

/**
 * Takes out of the feed each upsert from before a time (ISO 8601 UTC) that a later change of the same row makes
 * pointless: whoever reads on from anywhere is told of the same rows, the same at last. Returns how many went.
 */
export function compactChanges(db: Database, before: string): number {
  return db
    .transaction(() => {
      refuseStaleHolder(db);
      return db
        .prepare(/*sql*/ `DELETE FROM changes WHERE at < ? AND op = 'upsert'
          AND seq NOT IN (SELECT max(seq) FROM changes GROUP BY dataset, key)`)
        .run(before).changes;
    })
    .immediate();
}
