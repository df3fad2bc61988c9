import { dirname } from 'node:path';
import type { JS } from '@duckdb/node-api';
import { openDuckDb, sqlText } from './duckdb.ts';
import { storageError } from './storage-error.ts';

const memoryMaxMb = 512;

/** Rows of a Parquet file as JavaScript values: int64 as bigint, lists as arrays. */
export type ParquetRows = { columns: readonly string[]; rows: readonly (readonly JS[])[] };

/** Every row of a Parquet file of any schema, in batches, in constant memory. Throws `storage` when it cannot be read. */
export async function* readParquetRows(path: string): AsyncGenerator<ParquetRows> {
  try {
    using database = await openDuckDb({ folder: dirname(path), memoryMaxMb, threads: 1 });
    const result = await database.connection.stream(`SELECT * FROM read_parquet(${sqlText(path)})`);
    const columns = result.columnNames();
    for await (const rows of result.yieldRowsJs()) yield { columns, rows };
  } catch (error) {
    throw storageError('read a Parquet file', error);
  }
}
