import type { Database } from 'better-sqlite3';
import { textListOf } from '../contract/tolerant-reader.ts';

/**
 * Prepares what keeps the look-up from distinct id to person true. The person shown last holds the distinct id: a
 * person that held it before (a merge, a split) loses it, in its own list too. Returns the uuids of those persons, each
 * once. Call it inside a transaction.
 */
export function prepareOwnDistinctIds(
  db: Database,
): (personRowKey: number, distinctIds: readonly string[], isNew: boolean, at: string) => string[] {
  const owned = db
    .prepare<[number], string>(/*sql*/ `SELECT distinct_id FROM distinct_id_owners WHERE person_row_key = ?`)
    .pluck();
  const add = db.prepare<[number, string]>(
    /*sql*/ `INSERT INTO distinct_id_owners (person_row_key, distinct_id) VALUES (?, ?) ON CONFLICT (distinct_id) DO NOTHING`,
  );
  const release = db.prepare<[number, string]>(
    /*sql*/ `DELETE FROM distinct_id_owners WHERE person_row_key = ? AND distinct_id = ?`,
  );
  const ownerOf = db
    .prepare<[string], number>(/*sql*/ `SELECT person_row_key FROM distinct_id_owners WHERE distinct_id = ?`)
    .pluck();
  const list = db.prepare<[number], { uuid: string; distinct_ids: string | null }>(
    /*sql*/ `SELECT uuid, distinct_ids FROM persons WHERE row_key = ?`,
  );
  const relist = db.prepare<[string, string, number]>(
    /*sql*/ `UPDATE persons SET distinct_ids = ?, changed_at = ? WHERE row_key = ?`,
  );
  const noteLost = db.prepare<[number, string]>(
    /*sql*/ `INSERT OR IGNORE INTO distinct_ids_lost (person_row_key, distinct_id) VALUES (?, ?)`,
  );
  const regain = db.prepare<[number, string]>(
    /*sql*/ `DELETE FROM distinct_ids_lost WHERE person_row_key = ? AND distinct_id = ?`,
  );
  return (personRowKey, distinctIds, isNew, at) => {
    const losers: string[] = [];
    const lostBy = new Map<number, Set<string>>();
    const wanted = new Set(distinctIds);
    if (!isNew) {
      for (const distinctId of owned.all(personRowKey)) {
        if (!wanted.delete(distinctId)) release.run(personRowKey, distinctId);
      }
    }
    for (const distinctId of wanted) {
      if (add.run(personRowKey, distinctId).changes === 1) continue;
      const owner = ownerOf.get(distinctId);
      if (owner === undefined || owner === personRowKey) continue;
      release.run(owner, distinctId);
      add.run(personRowKey, distinctId);
      regain.run(personRowKey, distinctId);
      noteLost.run(owner, distinctId);
      lostBy.set(owner, (lostBy.get(owner) ?? new Set()).add(distinctId));
    }
    // Once for each of them: a merge may move thousands, and each time the whole list is written.
    for (const [owner, lost] of lostBy) {
      const loser = list.get(owner);
      if (!loser) continue;
      const kept = (textListOf(loser.distinct_ids) ?? []).filter((held) => !lost.has(held));
      relist.run(JSON.stringify(kept), at, owner);
      losers.push(loser.uuid);
    }
    return losers;
  };
}
