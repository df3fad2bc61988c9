import {
  BIGINT,
  BOOLEAN,
  DOUBLE,
  type DuckDBType,
  type DuckDBValue,
  LIST,
  TIMESTAMPTZ,
  VARCHAR,
  listValue,
  timestampTZValue,
} from '@duckdb/node-api';
import { textListOf, type ColumnValue } from '../contract/tolerant-reader.ts';
import { isoToMicros } from '../core/time.ts';
import type { ColumnType } from './columns.ts';

/** How a column type is written: DuckDB's type, and the value, or undefined where the type cannot hold it. */
export type ValueWriter = {
  readonly type: DuckDBType;
  readonly valueOf: (value: NonNullable<ColumnValue>) => DuckDBValue | undefined;
};

/** One writer for each column type. None of them throws or rounds. */
export const valueWriters: Readonly<Record<ColumnType, ValueWriter>> = {
  string: { type: VARCHAR, valueOf: (value) => (typeof value === 'string' ? value : undefined) },
  int64: { type: BIGINT, valueOf: int64Of },
  double: { type: DOUBLE, valueOf: (value) => (typeof value === 'string' ? undefined : Number(value)) },
  boolean: { type: BOOLEAN, valueOf: booleanOf },
  'timestamp[us, UTC]': { type: TIMESTAMPTZ, valueOf: timestampOf },
  'list<string>': { type: LIST(VARCHAR), valueOf: listOf },
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
  return micros === undefined ? undefined : timestampTZValue(micros);
}

// Parsed here and not by DuckDB, whose JSON refuses lone surrogates.
function listOf(value: NonNullable<ColumnValue>): DuckDBValue | undefined {
  const items = textListOf(value);
  return items && listValue(items);
}
