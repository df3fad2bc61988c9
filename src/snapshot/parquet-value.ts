import type { DuckDBType, DuckDBValue } from '@duckdb/node-api';
import { textListOf, type ColumnValue } from '../contract/tolerant-reader.ts';
import { isoToMicros } from '../core/time.ts';
import type { ColumnType } from './columns.ts';
import { duckDbApi } from './duckdb.ts';

/** How a column type is written: DuckDB's type, and the value, or undefined where the type cannot hold it. */
export type ValueWriter = {
  readonly type: () => DuckDBType;
  readonly valueOf: (value: NonNullable<ColumnValue>) => DuckDBValue | undefined;
};

/** One writer for each column type. None of them throws or rounds. */
export const valueWriters: Readonly<Record<ColumnType, ValueWriter>> = {
  string: {
    type: () => duckDbApi().VARCHAR,
    valueOf: (value) => (typeof value === 'string' ? value : undefined),
  },
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
