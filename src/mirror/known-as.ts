import type { Database } from 'better-sqlite3';
import type { PagedDataset } from '../contract/datasets.ts';

/** A row by its key, and as people know it: a person by name and address, a recording by its start and the distinct id. */
export type KnownAs = { key: string; known: string };

/** SQL: how people know a row of a dataset. A person without name and address is known by a distinct id. */
export const knownAs: Readonly<Record<PagedDataset, string>> = {
  persons: /*sql*/ `coalesce(
    nullif(concat_ws(', ', nullif(name, ''), nullif(json_extract(properties, '$.email'), name)), ''),
    json_extract(distinct_ids, '$[0]'), '')`,
  recordings: /*sql*/ `concat_ws(', ', start_time, distinct_id)`,
};

/** Persons by uuid, in that order; none that the mirror does not have. */
export function knownPersons(db: Database, uuids: readonly string[]): KnownAs[] {
  const sql = /*sql*/ `SELECT value AS key, ${knownAs.persons} AS known
    FROM json_each(?) JOIN persons ON uuid = value`;
  return db.prepare<[string], KnownAs>(sql).all(JSON.stringify(uuids));
}
