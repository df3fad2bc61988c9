import {
  datasets as contract,
  isMirrored,
  publishedDatasets,
  seqField,
  type DatasetField,
  type PublishedDataset,
} from '../contract/datasets.ts';
import type { FieldKind } from '../contract/resources.ts';
import type { ColumnValue } from '../contract/tolerant-reader.ts';

/** The types that published columns have, in the words that manifests use. */
export const columnTypes = ['string', 'int64', 'double', 'boolean', 'timestamp[us, UTC]', 'list<string>'] as const;
export type ColumnType = (typeof columnTypes)[number];

/** A published column, and the field of a mirror row that it is filled from. */
export type Column = {
  readonly name: string;
  readonly type: ColumnType;
  readonly field: string;
  /** Of a column of hashes: the check value of their key. Hashes under another key are another column. */
  readonly hashedUnder?: string;
};

/** A mirror row as SQLite keeps it, by field name. */
export type Row = Readonly<Record<string, ColumnValue>>;

/** A published dataset. Its key is the first column; rows stand in the order of the fields in `sortedBy`; keys may repeat. */
export type DatasetShape = {
  readonly key: Column;
  readonly columns: readonly Column[];
  readonly keyRepeats: boolean;
  readonly sortedBy: readonly string[];
};

// JSON stays a plain string: columns that are marked as JSON are read by few engines.
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

/** Every published dataset, as the contract's table has it: a new field of persons or recordings becomes a column by itself. */
export const publishedShapes = Object.fromEntries(publishedDatasets.map((name) => [name, shapeOf(name)])) as Readonly<
  Record<PublishedDataset, DatasetShape>
>;

/** The columns that the files of a dataset have after those of its rows: each file has one value in them. */
export function addedColumns(dataset: PublishedDataset): readonly Column[] {
  return isMirrored(dataset) ? [columnOf(seqField)] : [];
}

/** A column that is filled from the field of its own name, unless another is given. */
export function column(name: string, type: ColumnType, field = name): Column {
  return { name, type, field };
}

function shapeOf(name: PublishedDataset): DatasetShape {
  const columns = contract[name].publishedFields.map(columnOf);
  const [key] = columns;
  if (!key) throw new Error('a dataset without columns');
  const { keyRepeats, sortedBy } = contract[name];
  return { key, columns, keyRepeats, sortedBy };
}

function columnOf({ name, kind, column: published }: DatasetField): Column {
  return column(published, typeOfKind[kind], name);
}
