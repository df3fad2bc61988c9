import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { isoToMicros } from '../../src/core/time.ts';
import type { Column, DatasetShape, Row } from '../../src/snapshot/columns.ts';
import { parquetRows, sqlText } from '../../src/snapshot/duckdb.ts';
import { queryParquet } from '../../src/snapshot/read-parquet.ts';

type ParquetjsReader = { getCursor(): { next(): Promise<ReadRow | null> }; close(): Promise<void> };

const parquetjs = createRequire(import.meta.url)('parquetjs-lite') as {
  ParquetReader: { openFile(path: string): Promise<ParquetjsReader> };
};

/** A row as every reader here gives it: int64 as bigint, times as microseconds since 1970, lists as arrays. */
export type ReadRow = Record<string, unknown>;

/** What a reader should find of rows that were written. */
export function expectedRows({ columns }: DatasetShape, rows: readonly Row[]): ReadRow[] {
  return rows.map((row) => Object.fromEntries(columns.map((column) => [column.name, expectedValue(column, row)])));
}

/** Reads a file with hyparquet, in pure JavaScript. */
export async function readWithHyparquet(path: string): Promise<ReadRow[]> {
  const parsers = { timestampFromMicroseconds: (micros: bigint) => micros };
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(path), compressors, parsers });
  // It gives a null list as undefined.
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]: [string, unknown]) => [name, value ?? null])),
  );
}

/** Reads a file with DuckDB, times as exact as they are. */
export async function readWithDuckDb(path: string, { columns }: DatasetShape): Promise<ReadRow[]> {
  const selected = columns.map(({ name, type }) => {
    const quoted = `"${name.replaceAll('"', '""')}"`;
    return type === 'timestamp[us, UTC]' ? `epoch_us(${quoted}) AS ${quoted}` : quoted;
  });
  return queryParquet(dirname(path), `SELECT ${selected.join(', ')} FROM ${parquetRows([path])}`);
}

/**
 * Reads a file with parquetjs-lite. It has no zstd, so it reads a copy of the file whose pages are compressed with snappy. Its
 * times are to the millisecond, as a Date.
 */
export async function readWithParquetjs(path: string, { columns }: DatasetShape): Promise<ReadRow[]> {
  const reader = await parquetjs.ParquetReader.openFile(await copyWithSnappy(path));
  try {
    const cursor = reader.getCursor();
    const rows: ReadRow[] = [];
    for (let row = await cursor.next(); row; row = await cursor.next()) {
      const found = row;
      rows.push(Object.fromEntries(columns.map((column) => [column.name, valueOfParquetjs(column, found)])));
    }
    return rows;
  } finally {
    await reader.close();
  }
}

async function copyWithSnappy(path: string): Promise<string> {
  const copy = `${path}.snappy`;
  await queryParquet(
    dirname(path),
    `COPY (SELECT * FROM ${parquetRows([path])}) TO ${sqlText(copy)} (FORMAT parquet, COMPRESSION snappy)`,
  );
  return copy;
}

/** What parquetjs-lite should find: it cannot tell a null list from an empty one, nor microseconds apart. */
export function expectedOfParquetjs(shape: DatasetShape, rows: readonly Row[]): ReadRow[] {
  return expectedRows(shape, rows).map((row) =>
    Object.fromEntries(
      shape.columns.map(({ name, type }) => {
        const value = row[name];
        if (type === 'list<string>') return [name, value ?? []];
        if (typeof value === 'bigint' && type !== 'int64') return [name, new Date(Number(value) / 1000)];
        return [name, value];
      }),
    ),
  );
}

function expectedValue({ field, type }: Column, row: Row): unknown {
  const value = row[field] ?? null;
  if (value === null) return null;
  switch (type) {
    case 'int64':
      return BigInt(value);
    case 'double':
      return Number(value);
    case 'boolean':
      return Number(value) === 1;
    case 'timestamp[us, UTC]':
      return isoToMicros(String(value));
    case 'list<string>':
      return JSON.parse(String(value));
    case 'string':
      return value;
  }
}

function valueOfParquetjs({ name, type }: Column, row: ReadRow): unknown {
  const value = row[name] ?? null;
  // From a dictionary, every value comes as text.
  if (type === 'int64' && typeof value === 'string') return BigInt(value);
  if (type !== 'list<string>') return value;
  const { list = [] } = (value ?? {}) as { list?: { element: string }[] };
  return list.map(({ element }) => element);
}
