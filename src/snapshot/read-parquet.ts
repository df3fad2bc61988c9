import { dirname } from 'node:path';
import type { DuckDBConnection, JS } from '@duckdb/node-api';
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

/**
 * Which rows are read: SQL for the texts of a row, as a list, of which one has to be among these; undefined for each row. `columns`:
 * the types of a file's columns, as DuckDB names them.
 */
export type RowFilter = {
  texts: Iterable<string>;
  textsOf: (columns: ReadonlyMap<string, string>) => string | undefined;
};

/** Every row of a Parquet file, or those that a filter leaves, in batches, in constant memory. Throws `storage` when it cannot be read. */
export async function* readParquetRows(path: string, filter?: RowFilter): AsyncGenerator<ParquetRows> {
  try {
    using database = await openDuckDb({ folders: [dirname(path)], memoryMaxMb, threads: 1 });
    const { connection } = database;
    const rows = parquetRows([path]);
    const result = await connection.stream(
      `SELECT * FROM ${rows} ${filter ? await whereOf(connection, rows, filter) : ''}`,
    );
    const columns = result.columnNames();
    for await (const rows of result.yieldRowsJs()) yield { columns, rows };
  } catch (error) {
    throw storageError('read a Parquet file', error);
  }
}

/** Leaves rows out by the few columns that are looked at. A filter of a column would believe what a file says of its row groups. */
async function whereOf(connection: DuckDBConnection, rows: string, { texts, textsOf }: RowFilter): Promise<string> {
  const none = await connection.run(`SELECT * FROM ${rows} LIMIT 0`);
  const list = textsOf(new Map(none.columnNames().map((name, index) => [name, none.columnType(index).toString()])));
  if (list === undefined) return '';
  await loadTexts(
    connection,
    'sought',
    ['text'],
    Array.from(texts, (text) => [text]),
  );
  return `WHERE file_row_number IN (SELECT row FROM (SELECT file_row_number AS row, unnest(${list}) AS text FROM ${rows})
    SEMI JOIN sought USING (text))`;
}
