import type { Database } from 'better-sqlite3';

/** What the feed of deletions holds for those who have copies. Times are ISO 8601 UTC. */
export type DeletionFeed = { rows: number; erased: number; oldestAt: string | null; newestAt: string | null };

/** Measures the feed of deletions. */
export function readDeletionFeed(db: Database): DeletionFeed {
  return db
    .prepare<
      [],
      DeletionFeed
    >(/*sql*/ `SELECT count(*) AS rows, count(*) FILTER (WHERE reason = 'erased') AS erased,
        min(deleted_at) AS oldestAt, max(deleted_at) AS newestAt FROM deletions`)
    .get() as DeletionFeed;
}
