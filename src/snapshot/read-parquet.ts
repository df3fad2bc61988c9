import { dirname } from 'node:path';
import type { JS } from '@duckdb/node-api';
import { openDuckDb, parquetRows, sqlPaths } from './duckdb.ts';
import { storageError } from './storage-error.ts';

const memoryMaxMb = 512;

/** Runs a query over Parquet files below `folder`. int64 become bigint, times Date. Throws `storage` if unreadable. */
export async function queryParquet(folder: string, sql: string): Promise<Record<string, JS>[]> {
  try {
    using database = await openDuckDb({ folders: [folder], memoryMaxMb, threads: 2 });
    const reader = await database.connection.runAndReadAll(sql);
    return reader.getRowObjectsJS();
  } catch (error) {
    throw storageError('read Parquet files', error);
  }
}

/** How many bytes of a Parquet file its columns have, with their filters. Throws `storage` when it cannot be read. */
export async function columnBytesIn(path: string): Promise<number> {
  const sums = await queryParquet(
    dirname(path),
    `SELECT sum(total_compressed_size) + sum(coalesce(bloom_filter_length, 0)) AS bytes FROM parquet_metadata(${sqlPaths([path])})`,
  );
  return Number(sums[0]?.['bytes'] ?? 0);
}

/** Rows of a Parquet file, their values as `queryParquet` gives them. */
export type ParquetRows = { columns: readonly string[]; rows: readonly (readonly JS[])[] };

/** Every row of a Parquet file, in batches, in constant memory. Throws `storage` when it cannot be read. */
export async function* readParquetRows(path: string): AsyncGenerator<ParquetRows> {
  try {
    using database = await openDuckDb({ folders: [dirname(path)], memoryMaxMb, threads: 1 });
    const result = await database.connection.stream(`SELECT * FROM ${parquetRows([path])}`);
    const columns = result.columnNames();
    for await (const rows of result.yieldRowsJs()) yield { columns, rows };
  } catch (error) {
    throw storageError('read a Parquet file', error);
  }
}
