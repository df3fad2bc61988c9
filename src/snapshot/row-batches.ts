import type { DuckDBType, DuckDBValue } from '@duckdb/node-api';
import { RowText, type SortValues } from '../contract/row-text.ts';
import { textListOf, type ColumnValue } from '../contract/tolerant-reader.ts';
import { isoToMicros } from '../core/time.ts';
import type { ColumnType, DatasetShape, Row } from './columns.ts';
import { duckDbApi } from './duckdb.ts';

/** What was written so far. */
export type WrittenRows = {
  rows: number;
  /** Values that their column's type cannot hold (a time beyond the year 9999): written as null. */
  unrepresentable: number;
};

/** The values of some rows, at least one, by column; or a text of rows. */
export type Batch = DuckDBValue[][] | RowText;

// DuckDB's vector size: the most rows that it takes at once.
const batchRowsMax = 2048;
const batchCharactersMax = 4 * 1024 * 1024;

/**
 * Turns rows into values to write, in batches bounded by rows and by characters, and counts them in `written`. Throws at
 * rows that are not sorted as those of their dataset, or lack a field: readers rely on the order.
 */
export function* batchRows(
  rows: Iterable<Row | RowText>,
  { columns, sortedBy }: DatasetShape,
  written: WrittenRows,
): Generator<Batch, void> {
  const fills = columns.map(({ field, type }) => ({
    field,
    valueOf: valueWriters[type].valueOf,
    values: [] as DuckDBValue[],
  }));
  let rowsHeld = 0;
  let charactersHeld = 0;
  const takeHeld = (): Batch => {
    const held = fills.map(({ values }) => values);
    for (const fill of fills) fill.values = [];
    rowsHeld = 0;
    charactersHeld = 0;
    return held;
  };
  let before: SortValues | undefined;
  const count = ({ first, last, rows: more }: Omit<RowText, 'bytes'>): void => {
    if (before && !areInOrder(before, first)) throw new Error('rows out of order');
    before = last;
    written.rows += more;
  };
  for (const row of rows) {
    if (row instanceof RowText) {
      if (rowsHeld > 0) yield takeHeld();
      count(row);
      yield row;
      continue;
    }
    const sorted = sortedBy.map((field) => textIn(row, field));
    count({ rows: 1, first: sorted, last: sorted });
    for (const { field, valueOf, values } of fills) {
      const value = row[field];
      if (value === undefined) throw new Error(`a row without the field ${field}`);
      const writable = value === null ? null : valueOf(value);
      if (writable === undefined) written.unrepresentable += 1;
      values.push(writable ?? null);
      if (typeof value === 'string') charactersHeld += value.length;
    }
    rowsHeld += 1;
    if (rowsHeld >= batchRowsMax || charactersHeld >= batchCharactersMax) yield takeHeld();
  }
  if (rowsHeld > 0) yield takeHeld();
}

function textIn(row: Row, field: string): string {
  const value = row[field];
  // Ids are not negative: with as many digits, they sort as texts do.
  if (typeof value === 'bigint') return String(value).padStart(19, '0');
  if (typeof value !== 'string') throw new Error(`a row without the field ${field}`);
  return value;
}

/** Whether one row comes before another by UTF-8 bytes, as in SQLite and Parquet. JavaScript's `<` compares UTF-16. */
function areInOrder(one: SortValues, other: SortValues): boolean {
  const at = one.findIndex((value, place) => value !== other[place]);
  return Buffer.compare(Buffer.from(one[at] ?? ''), Buffer.from(other[at] ?? '')) < 0;
}

/** How a column type is written: DuckDB's type, and the value; undefined when the type cannot hold the value. */
type ValueWriter = {
  readonly type: () => DuckDBType;
  readonly valueOf: (value: NonNullable<ColumnValue>) => DuckDBValue | undefined;
};

/** One writer for each column type. None of them throws or rounds. */
export const valueWriters: Readonly<Record<ColumnType, ValueWriter>> = {
  string: { type: () => duckDbApi().VARCHAR, valueOf: (value) => (typeof value === 'string' ? value : undefined) },
  int64: { type: () => duckDbApi().BIGINT, valueOf: int64Of },
  double: {
    type: () => duckDbApi().DOUBLE,
    valueOf: (value) => (typeof value === 'string' ? undefined : Number(value)),
  },
  boolean: { type: () => duckDbApi().BOOLEAN, valueOf: booleanOf },
  'timestamp[us, UTC]': { type: () => duckDbApi().TIMESTAMPTZ, valueOf: timestampOf },
  'list<string>': { type: () => duckDbApi().LIST(duckDbApi().VARCHAR), valueOf: listOf },
};

function int64Of(value: NonNullable<ColumnValue>): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  return typeof value === 'bigint' && BigInt.asIntN(64, value) === value ? value : undefined;
}

function booleanOf(value: NonNullable<ColumnValue>): boolean | undefined {
  const number = Number(value);
  return typeof value !== 'string' && (number === 0 || number === 1) ? number === 1 : undefined;
}

function timestampOf(value: NonNullable<ColumnValue>): DuckDBValue | undefined {
  const micros = typeof value === 'string' ? isoToMicros(value) : undefined;
  return micros === undefined ? undefined : duckDbApi().timestampTZValue(micros);
}

// Parsed here and not by DuckDB, whose JSON refuses lone surrogates.
function listOf(value: NonNullable<ColumnValue>): DuckDBValue | undefined {
  const items = textListOf(value);
  return items && duckDbApi().listValue(items);
}
