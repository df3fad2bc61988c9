import type { Database } from 'better-sqlite3';
import { datasets, type MirroredDataset } from '../contract/datasets.ts';
import type { IdentifierKind } from '../contract/identity.ts';

/** Side tables that hold identifiers: the column, the kind in it, and the key of a row. */
export const sideTables: readonly { table: string; column: string; kind: IdentifierKind; key: readonly string[] }[] = [
  { table: 'distinct_id_owners', column: 'distinct_id', kind: 'distinct_id', key: ['person_row_key', 'distinct_id'] },
  { table: 'distinct_ids_lost', column: 'distinct_id', kind: 'distinct_id', key: ['person_row_key', 'distinct_id'] },
  { table: 'playlist_recordings', column: 'recording_id', kind: 'recording_id', key: ['short_id', 'recording_id'] },
  { table: 'playlist_recordings', column: 'person_uuid', kind: 'person_uuid', key: ['short_id', 'recording_id'] },
  { table: 'playlist_recordings', column: 'distinct_id', kind: 'distinct_id', key: ['short_id', 'recording_id'] },
];

/** SQL: the columns of a dataset's rows, and when each row last changed. */
export function columnsOf(dataset: MirroredDataset): string {
  return [...datasets[dataset].fields.map(({ name }) => name), 'changed_at'].join(', ');
}

/** SQL: the columns of a table that fields are named after, each under the name of its field: `started_at AS startedAt`. */
export function columnsAs(fields: readonly string[]): string {
  return fields.map((field) => `${columnOf(field)} AS ${field}`).join(', ');
}

/** SQL: the assignments of an UPDATE, of the fields that a change has. */
export function assignmentsOf(change: object): string {
  return Object.keys(change)
    .map((field) => `${columnOf(field)} = @${field}`)
    .join(', ');
}

function columnOf(field: string): string {
  return field.replaceAll(/[A-Z]/g, '_$&').toLowerCase();
}

/** Prepares the look-up of a row's key by its surrogate key; undefined when the mirror does not hold the row. */
export function prepareFindKey(db: Database, dataset: MirroredDataset): (rowKey: number) => string | undefined {
  const sql = /*sql*/ `SELECT ${datasets[dataset].key} FROM ${dataset} WHERE row_key = ?`;
  const find = db.prepare<[number], string>(sql).pluck();
  return (rowKey) => find.get(rowKey);
}

/** Prepares the look-up of the person, by the surrogate key, who holds a distinct id. */
export function prepareFindOwner(db: Database): (distinctId: string) => number | undefined {
  const sql = /*sql*/ `SELECT person_row_key FROM distinct_id_owners WHERE distinct_id = ?`;
  const find = db.prepare<[string], number>(sql).pluck();
  return (distinctId) => find.get(distinctId);
}

/** Prepares the look-up of a row's surrogate key; undefined when the mirror does not hold the row. */
export function prepareFindRowKey(db: Database, dataset: MirroredDataset): (key: string) => number | undefined {
  const sql = /*sql*/ `SELECT row_key FROM ${dataset} WHERE ${datasets[dataset].key} = ?`;
  const find = db.prepare<[string], number>(sql).pluck();
  return (key) => find.get(key);
}
