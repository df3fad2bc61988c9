import type { Database } from 'better-sqlite3';
import { withoutDistinctIds } from '../contract/embedded-person.ts';

/** SQL: each recording beside each distinct id of the person that it embeds. */
export const namedInRecordings = /*sql*/ `recordings JOIN json_each(recordings.person, '$.distinct_ids') AS named
  ON typeof(named.value) = 'text'`;

/**
 * Takes distinct ids out of the persons that recordings embed, as the fence does with what comes in, and says so in the
 * feed of changes. Reads every recording. Returns how many it changed. Call it inside a transaction.
 */
export function trimRecordings(db: Database, distinctIds: readonly string[], at: string): number {
  if (distinctIds.length === 0) return 0;
  const gone = new Set(distinctIds);
  const rows = db
    .prepare<[string], { rowKey: number; id: string; person: string }>(/*sql*/ `SELECT DISTINCT
        recordings.row_key AS rowKey, recordings.id, person FROM ${namedInRecordings}
        WHERE named.value IN (SELECT value FROM json_each(?))`)
    .all(JSON.stringify(distinctIds));
  const replace = db.prepare<[string, string, number]>(
    /*sql*/ `UPDATE recordings SET person = ?, changed_at = ? WHERE row_key = ?`,
  );
  const appendChange = db.prepare<[string, string]>(
    /*sql*/ `INSERT INTO changes (dataset, key, op, at) VALUES ('recordings', ?, 'upsert', ?)`,
  );
  let changed = 0;
  for (const { rowKey, id, person } of rows) {
    const trimmed = withoutDistinctIds(person, (distinctId) => gone.has(distinctId));
    if (trimmed === undefined) continue;
    replace.run(trimmed, at, rowKey);
    appendChange.run(id, at);
    changed += 1;
  }
  return changed;
}
