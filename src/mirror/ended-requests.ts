import type { Database } from 'better-sqlite3';
import { finalStates } from './erasure-requests.ts';

/** Those of these requests, by id, that have ended; only those that are due by a time (ISO 8601 UTC), where one is given. */
export function endedOf(db: Database, ids: readonly string[], dueBy: string | null): ReadonlySet<string> {
  const sql = /*sql*/ `SELECT id FROM erasure_requests WHERE id IN (SELECT value FROM json_each(@ids))
    AND state IN (SELECT value FROM json_each(@final)) AND (@dueBy IS NULL OR due_at <= @dueBy)`;
  const given = { ids: JSON.stringify(ids), final: JSON.stringify(finalStates), dueBy };
  return new Set(db.prepare<object, string>(sql).pluck().all(given));
}
