import type { Database } from 'better-sqlite3';
import { datasets, pagedDatasets } from '../contract/datasets.ts';
import { transact } from './transact.ts';
import { listRequests } from './erasure-requests.ts';
import { markPurgeOwed } from './purge.ts';

/** A place in the feed of changes: a change's number, and its time (ISO 8601 UTC). */
export type ChangePosition = { seq: number; at: string };

/** The newest change of the mirror; null before the first. */
export function newestChange(db: Database): ChangePosition | null {
  return db.prepare<[], ChangePosition>(/*sql*/ `SELECT seq, at FROM changes ORDER BY seq DESC LIMIT 1`).get() ?? null;
}

/** The number of the newest change that the mirror ever had, also where the feed has it no more; 0 before the first. */
export function newestNumber(db: Database): number {
  return db.prepare<[], number>(/*sql*/ `SELECT seq FROM sqlite_sequence WHERE name = 'changes'`).pluck().get() ?? 0;
}

/**
 * A number above all that were ever given, where that is not known: the mirror is an older copy, perhaps not for the first time. No
 * mirror has a thousand million changes between two copies, nor a million changes a second.
 */
export function aboveAllNumbers(db: Database, nowMs: number): number {
  return Math.max(newestNumber(db) + 1_000_000_000, Math.floor(nowMs) * 1000);
}

/**
 * Gives every change and every deletion a number above `above`, in the same order. For an older copy of the mirror: it would give
 * numbers again that readers know from what was published since.
 */
export function renumberFeeds(db: Database, above: number): void {
  transact(db, () => {
    const newest = newestNumber(db);
    const first = /*sql*/ `SELECT min(seq) FROM (SELECT seq FROM changes UNION ALL SELECT seq FROM deletions)`;
    const oldest = db.prepare<[], number | null>(first).pluck().get() ?? newest + 1;
    // A number of this size would be bound as a real one.
    const by = BigInt(Math.max(0, above - oldest + 1));
    for (const feed of ['changes', 'deletions']) {
      // In two steps: in one, a number could still be taken.
      db.prepare(/*sql*/ `UPDATE ${feed} SET seq = -seq - ?`).run(by);
      db.exec(/*sql*/ `UPDATE ${feed} SET seq = -seq`);
      db.prepare(/*sql*/ `DELETE FROM sqlite_sequence WHERE name = ?`).run(feed);
      db.prepare(/*sql*/ `INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)`).run(feed, BigInt(newest) + by);
    }
  });
}

/** Leaves out a number: the newest is one that no change has. */
export function skipNumber(db: Database): void {
  db.exec(/*sql*/ `UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'changes'`);
}

/** Whether the feed still has this very change: it may have expired, or be missing in an older copy of the mirror. */
export function hasChange(db: Database, { seq, at }: ChangePosition): boolean {
  return db.prepare(/*sql*/ `SELECT 1 FROM changes WHERE seq = ? AND at = ?`).get(seq, at) !== undefined;
}

/** Whether a change has a number above `after`, up to `through`. */
export function hasChangeWithin(db: Database, after: number, through: number): boolean {
  return db.prepare(/*sql*/ `SELECT 1 FROM changes WHERE seq > ? AND seq <= ?`).get(after, through) !== undefined;
}

/** Removes each upsert before a time (ISO 8601 UTC) that a later change of its row replaces. Returns how many. */
export function compactChanges(db: Database, before: string): number {
  const sql = /*sql*/ `DELETE FROM changes WHERE at < ? AND op = 'upsert'
    AND seq NOT IN (SELECT max(seq) FROM changes GROUP BY dataset, key)`;
  return db.prepare(sql).run(before).changes;
}

/** What the feed of deletions holds for those who have copies. Times are ISO 8601 UTC. */
export type DeletionFeed = { rows: number; erased: number; oldestAt: string | null; newestAt: string | null };

/** Measures the feed of deletions. */
export function readDeletionFeed(db: Database): DeletionFeed {
  const sql = /*sql*/ `SELECT count(*) AS rows, count(*) FILTER (WHERE reason = 'erased') AS erased,
        min(deleted_at) AS oldestAt, max(deleted_at) AS newestAt FROM deletions`;
  return db.prepare<[], DeletionFeed>(sql).get() as DeletionFeed;
}

/** Notes that the deletions up to a number are published, if that is not known yet. `at`: ISO 8601 UTC. */
export function noteFeedPublished(db: Database, seq: number, at: string): void {
  db.prepare(/*sql*/ `INSERT OR IGNORE INTO feed_publications (seq, at) VALUES (?, ?)`).run(seq, at);
}

/** Up to which number the deletions were published before a time (ISO 8601 UTC); 0 where none were. */
export function publishedBefore(db: Database, before: string): number {
  const sql = /*sql*/ `SELECT max(seq) FROM feed_publications WHERE at < ?`;
  return db.prepare<[string], number | null>(sql).pluck().get(before) ?? 0;
}

/** Up to which number no deletion is of a request for erasure that is open, or whose certificate says that it is listed after `at`. */
export function beforeOpenRequests(db: Database, at: string): number {
  const sql = /*sql*/ `SELECT min(seq) FROM deletions WHERE request_id IN (SELECT value FROM json_each(?)
    UNION ALL SELECT id FROM erasure_requests WHERE listed_until > ?)`;
  const open = listRequests(db, 'open').map(({ id }) => id);
  const first = db.prepare<[string, string], number | null>(sql).pluck().get(JSON.stringify(open), at);
  return (first ?? Infinity) - 1;
}

/**
 * Which deletions leave the feeds: those before a time (ISO 8601 UTC), but none with a number above `through`. Deltas are
 * published that need these, or whoever has copies has not had time enough to read them.
 */
export type FeedEnd = { before: string; through: number };

/** Forgets old deletions, and the changes of the same keys unless those are there again. Returns how many. */
export function expireDeletionFeed(db: Database, end: FeedEnd): number {
  return transact(db, () => {
    // Without any, all changes would be read for nothing.
    if (countExpiredDeletions(db, end) > 0)
      db.prepare(/*sql*/ `DELETE FROM changes WHERE (dataset, key) IN (SELECT dataset, key FROM deletions AS expired
        WHERE deleted_at < @before AND seq <= @through AND NOT EXISTS (SELECT 1 FROM deletions AS later
          WHERE later.dataset = expired.dataset AND later.key = expired.key
            AND (later.deleted_at >= @before OR later.seq > @through))
        ${pagedDatasets
          .map(
            (dataset) => `AND NOT EXISTS (SELECT 1 FROM ${dataset}
          WHERE expired.dataset = '${dataset}' AND ${datasets[dataset].key} = expired.key)`,
          )
          .join(' ')})
        AND at < @before`).run(end);
    const expired = db
      .prepare(/*sql*/ `DELETE FROM deletions WHERE deleted_at < @before AND seq <= @through`)
      .run(end).changes;
    if (expired > 0) markPurgeOwed(db);
    db.prepare(/*sql*/ `DELETE FROM feed_publications
      WHERE seq < (SELECT max(seq) FROM feed_publications WHERE at < ?)`).run(end.before);
    return expired;
  });
}

/** How many deletions would leave the feed. */
export function countExpiredDeletions(db: Database, end: FeedEnd): number {
  const sql = /*sql*/ `SELECT count(*) FROM deletions WHERE deleted_at < @before AND seq <= @through`;
  return db.prepare<[FeedEnd], number>(sql).pluck().get(end) ?? 0;
}
