import { dirname } from 'node:path';
import type { JS } from '@duckdb/node-api';
import { loadTexts, openDuckDb, parquetRows, sqlPaths } from './duckdb.ts';
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

/** Which rows are read: SQL for the texts of a row, as a list, of which one has to be among these; undefined for each row. */
export type RowFilter = { texts: Iterable<string>; textsOf: (columns: readonly string[]) => string | undefined };

/** Every row of a Parquet file, or those that a filter leaves, in batches, in constant memory. Throws `storage` when it cannot be read. */
export async function* readParquetRows(path: string, filter?: RowFilter): AsyncGenerator<ParquetRows> {
  try {
    using database = await openDuckDb({ folders: [dirname(path)], memoryMaxMb, threads: 1 });
    const { connection } = database;
    const rows = parquetRows([path]);
    let isRead = 'true';
    const texts = filter?.textsOf((await connection.run(`SELECT * FROM ${rows} LIMIT 0`)).columnNames());
    if (filter && texts !== undefined) {
      await loadTexts(
        connection,
        'sought',
        ['text'],
        Array.from(filter.texts, (text) => [text]),
      );
      isRead = `file_row_number IN (SELECT row FROM (SELECT file_row_number AS row, unnest(${texts}) AS text FROM ${rows})
        SEMI JOIN sought USING (text))`;
    }
    const result = await connection.stream(`SELECT * FROM ${rows} WHERE ${isRead}`);
    const columns = result.columnNames();
    for await (const rows of result.yieldRowsJs()) yield { columns, rows };
  } catch (error) {
    throw storageError('read a Parquet file', error);
  }
}
