import type { Database } from 'better-sqlite3';
import { identifierKinds, type Identity } from '../contract/identity.ts';

/** SQL: whether a value is one of the identifiers of a kind that are sought. */
export function isSought(kind: 'person_uuid' | 'distinct_id', value: string): string {
  return /*sql*/ `EXISTS (SELECT 1 FROM temp.sought WHERE kind = '${kind}' AND sought.value = ${value})`;
}

/** SQL: whether a recording embeds a person with a distinct id that is sought. */
export const namesSought = /*sql*/ `EXISTS (SELECT 1 FROM json_each(person, '$.distinct_ids') AS named
  WHERE typeof(named.value) = 'text' AND ${isSought('distinct_id', 'named.value')})`;

/** So many rows take some hundredths of a second. */
const rowsAtOnce = 5_000;

/**
 * What stands in the recordings that a condition holds for (SQL, over the identifiers that are sought), those of some thousands
 * of rows at a time. Other work may go on between. Reads all recordings. What is sought is a table: a list would be read again
 * by each statement.
 */
export function* recordingsInParts<Row>(
  db: Database,
  sought: Partial<Identity>,
  columns: string,
  condition: string,
): Generator<Row[]> {
  db.exec(/*sql*/ `CREATE TEMP TABLE sought (kind TEXT, value TEXT, PRIMARY KEY (kind, value)) WITHOUT ROWID`);
  try {
    const fill = db.prepare(/*sql*/ `INSERT OR IGNORE INTO temp.sought SELECT ?, value FROM json_each(?)`);
    for (const kind of identifierKinds) fill.run(kind, JSON.stringify(sought[kind] ?? []));
    const last = db.prepare<[], number>(/*sql*/ `SELECT max(row_key) FROM recordings`).pluck().get() ?? 0;
    const sql = /*sql*/ `SELECT ${columns} FROM recordings WHERE row_key > ? AND row_key <= ? AND (${condition})`;
    const some = db.prepare<[number, number], Row>(sql);
    for (let after = 0; after < last; after += rowsAtOnce) yield some.all(after, after + rowsAtOnce);
  } finally {
    db.exec(/*sql*/ `DROP TABLE temp.sought`);
  }
}
