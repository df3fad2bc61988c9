import type { JS } from '@duckdb/node-api';
import { openDuckDb } from './duckdb.ts';
import { storageError } from './storage-error.ts';

const memoryMaxMb = 512;

/**
 * Runs one SQL query (`SELECT … FROM read_parquet('…')`) that may read files below `folder` only. The rows come as JavaScript
 * values: int64 as bigint, times as Date, lists as arrays. Throws `storage` when a file cannot be read.
 */
export async function queryParquet(folder: string, sql: string): Promise<Record<string, JS>[]> {
  try {
    using database = await openDuckDb({ folder, memoryMaxMb, threads: 2 });
    const reader = await database.connection.runAndReadAll(sql);
    return reader.getRowObjectsJS();
  } catch (error) {
    throw storageError('read Parquet files', error);
  }
}
