import type { Database } from '../../src/mirror/database.ts';
import { seenRows } from '../../src/mirror/seen.ts';

/** What must not be found in a mirror at rest: queries, by what is wrong with the rows that they find. */
type Contradictions = Record<string, string>;

function ofRows(table: 'persons' | 'recordings' | 'playlists', key: string): Contradictions {
  return {
    [`a row of ${table} that no pass saw`]: `SELECT row_key FROM ${table} WHERE row_key NOT IN
      (SELECT row_key FROM ${seenRows(table)} JOIN passes ON passes.id = pass_id WHERE dataset = '${table}')`,
    [`a sight of a row that ${table} lacks`]: `SELECT 1 WHERE
      (SELECT coalesce(sum(to_key - from_key + 1), 0) FROM ${table}_seen) <> (SELECT count(*) FROM ${table})`,
    [`a row of ${table} whose last change is not told`]: `SELECT ${key} FROM ${table} WHERE 'upsert' IS NOT
      (SELECT op FROM changes WHERE dataset = '${table}' AND changes.key = ${table}.${key} ORDER BY seq DESC LIMIT 1)`,
    [`a change of a row that left ${table} without a word`]: `SELECT key FROM changes WHERE dataset = '${table}'
      AND key NOT IN (SELECT ${key} FROM ${table} UNION SELECT key FROM deletions WHERE dataset = '${table}')`,
    [`counts of rows added to ${table} that are not how many came`]: `
      SELECT 1 WHERE (SELECT coalesce(sum(rows_added), 0) FROM passes WHERE dataset = '${table}')
        <> (SELECT count(*) FROM ${table}) + (SELECT count(*) FROM deletions WHERE dataset = '${table}')`,
  };
}

function ofAbsence(table: 'persons' | 'recordings'): Contradictions {
  const told = `FROM changes WHERE dataset = '${table}' AND op = 'delete'`;
  const bytesOfEach = 28;
  return {
    [`a fingerprint of a row that ${table} lacks`]: `WITH RECURSIVE place (n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM place WHERE n < 127)
      SELECT block FROM ${table}_shown, place WHERE substr(prints, n * ${bytesOfEach} + 17, 4) <> zeroblob(4)
        AND block * 128 + n NOT IN (SELECT row_key FROM ${table})`,
    [`a suspect of ${table}`]: `SELECT row_key FROM suspects WHERE dataset = '${table}'`,
    [`a deletion from ${table} that is told under another number`]: `SELECT key FROM deletions WHERE dataset = '${table}'
      AND NOT EXISTS (SELECT 1 ${told} AND changes.seq = deletions.seq AND changes.key = deletions.key)`,
    [`a told deletion from ${table} that is none`]: `SELECT key ${told}
      AND key NOT IN (SELECT key FROM deletions WHERE dataset = '${table}')`,
  };
}

const contradictions: Contradictions = {
  'an owner of a distinct id that does not list it': `
    SELECT distinct_id FROM distinct_id_owners LEFT JOIN persons ON row_key = person_row_key
    WHERE distinct_id NOT IN (SELECT value FROM json_each(coalesce(distinct_ids, '[]')))`,
  'a listed distinct id that is not owned': `
    SELECT value FROM persons, json_each(persons.distinct_ids) WHERE NOT EXISTS
      (SELECT 1 FROM distinct_id_owners WHERE person_row_key = row_key AND distinct_id = value)`,
  'a distinct id lost by a person who is not there': `
    SELECT distinct_id FROM distinct_ids_lost WHERE person_row_key NOT IN (SELECT row_key FROM persons)`,
  'a distinct id lost by the person who has it': `
    SELECT distinct_id FROM distinct_ids_lost JOIN distinct_id_owners USING (person_row_key, distinct_id)`,
  ...ofRows('persons', 'uuid'),
  ...ofRows('recordings', 'id'),
  ...ofRows('playlists', 'short_id'),
  ...ofAbsence('persons'),
  ...ofAbsence('recordings'),
  'a run without an outcome': `SELECT id FROM runs WHERE outcome IS NULL`,
  'a lease that nobody gave back': `SELECT holder FROM lease`,
  // Playlists are few, and are read anew instead.
  'a pass that was not taken up to its end': `
    SELECT id FROM passes WHERE verdict IS NOT 'complete' AND (dataset, reason) IS NOT ('playlists', 'superseded')`,
};

/** What contradicts itself in a mirror that is whole, whose last run is over, and to which nothing is left to be done. */
export function contradictionsIn(db: Database): string[] {
  const damage = db.prepare<[], string>(`PRAGMA integrity_check`).pluck().all();
  return [
    ...damage.filter((line) => line !== 'ok'),
    ...Object.keys(contradictions).filter((what) => db.prepare(contradictions[what] ?? '').all().length > 0),
  ];
}
