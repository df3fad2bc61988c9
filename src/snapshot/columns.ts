import type { z } from 'zod';
import { Person, Recording, fieldKind, type FieldKind } from '../contract/resources.ts';
import type { ColumnValue } from '../contract/tolerant-reader.ts';

/** The types that published columns have, in the words that manifests use. */
export const columnTypes = [
  'string',
  'int64',
  'double',
  'boolean',
  'timestamp[us, UTC]',
  'list<string>',
] as const;
export type ColumnType = (typeof columnTypes)[number];

/** A published column, and the field of a mirror row that it is filled from. */
export type Column = { readonly name: string; readonly type: ColumnType; readonly field: string };

/** A mirror row as SQLite keeps it, by field name. */
export type Row = Readonly<Record<string, ColumnValue>>;

/**
 * What a published dataset looks like. Its key is the first column, and its rows are in the key's byte order. A key that
 * repeats may stand in several rows.
 */
export type DatasetShape = {
  readonly key: Column;
  readonly columns: readonly Column[];
  readonly keyRepeats?: true;
};

// JSON stays a plain string: one lone `\ud800` escape in a JSON-annotated column makes DuckDB refuse the whole file.
const typeOfKind: Readonly<Record<FieldKind, ColumnType>> = {
  text: 'string',
  uuid: 'string',
  integer: 'int64',
  integer_id: 'int64',
  real: 'double',
  boolean: 'boolean',
  time: 'timestamp[us, UTC]',
  text_list: 'list<string>',
  json: 'string',
};

const mirrorColumns = [column('extra', 'string'), column('changed_at', 'timestamp[us, UTC]')];

/** Every dataset there is. The fields of persons and recordings are the contract's: a new one becomes a column by itself. */
export const datasets = {
  persons: shape([
    ...resourceColumns(Person, 'uuid', { uuid: 'person_uuid', id: 'person_id' }),
    ...mirrorColumns,
  ]),
  recordings: shape([...resourceColumns(Recording, 'id'), column('person_uuid', 'string'), ...mirrorColumns]),
  distinct_ids: shape([column('distinct_id', 'string'), column('person_uuid', 'string')]),
  deletions: {
    ...shape([
      column('key', 'string'),
      column('dataset', 'string'),
      column('person_uuid', 'string'),
      column('reason', 'string'),
      column('deleted_at', 'timestamp[us, UTC]'),
      column('request_id', 'string'),
    ]),
    // A recording may have the id of a person.
    keyRepeats: true,
  },
} satisfies Record<string, DatasetShape>;

/** The name of a dataset. */
export type Dataset = keyof typeof datasets;

/** The names of all datasets. */
export const datasetNames = Object.keys(datasets) as Dataset[];

/** A column that is filled from the field of its own name, unless another is given. */
export function column(name: string, type: ColumnType, field = name): Column {
  return { name, type, field };
}

function shape(columns: readonly Column[]): DatasetShape {
  const [key] = columns;
  if (!key) throw new Error('a dataset without columns');
  return { key, columns };
}

/** The key first, then the other fields in the contract's order. */
function resourceColumns(resource: z.ZodObject, key: string, names: Record<string, string> = {}): Column[] {
  const all = Object.entries(resource.shape).map(([field, schema]) =>
    column(names[field] ?? field, typeOfKind[fieldKind(schema)], field),
  );
  return [...all.filter(({ field }) => field === key), ...all.filter(({ field }) => field !== key)];
}
