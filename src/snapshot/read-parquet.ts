import { resolve } from 'node:path';
import type { DuckDBConnection, JS } from '@duckdb/node-api';
import { type DuckDb, loadTexts, openDuckDb, parquetRows, sqlPaths } from './duckdb.ts';
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

/** Rows of a Parquet file, their values as `queryParquet` gives them. */
type ParquetRows = { columns: readonly string[]; rows: readonly (readonly JS[])[] };

/**
 * Which rows are read: those with a text among these, or among these in lower case. `textsOf`: SQL for texts of a row, of one column each;
 * undefined for each row. `columns`: the types of a file's columns, as DuckDB names them.
 */
export type RowFilter = {
  texts: Iterable<string>;
  textsOf: (columns: ReadonlyMap<string, string>) => readonly string[] | undefined;
};

/** A database that reads Parquet files. */
export type ParquetReader = DuckDb;

/** Opens a database that reads any number of Parquet files below some folders. A link below one may lead to no other place. */
export function openParquetReader(folders: Iterable<string>): Promise<ParquetReader> {
  return openDuckDb({ folders: Array.from(folders, (folder) => resolve(folder)), memoryMaxMb, threads: 1 });
}

/** How many bytes of a Parquet file its columns have, with their filters. Throws `storage` when it cannot be read. */
export async function columnBytesIn({ connection }: ParquetReader, path: string): Promise<number> {
  try {
    const sums = await connection.runAndReadAll(
      `SELECT sum(total_compressed_size) + sum(coalesce(bloom_filter_length, 0)) FROM parquet_metadata(${sqlPaths([resolve(path)])})`,
    );
    return Number(sums.getRows()[0]?.[0] ?? 0);
  } catch (error) {
    throw storageError('read a Parquet file', error);
  }
}

/**
 * Every row of a Parquet file, or those that a filter leaves, in batches, the first without any, in constant memory. Other files can be
 * read meanwhile. Throws `storage` when it cannot be read.
 */
export async function* readParquetRows(
  reader: ParquetReader,
  path: string,
  filter?: RowFilter,
): AsyncGenerator<ParquetRows> {
  const connection = await reader.connect();
  try {
    const rows = parquetRows([resolve(path)]);
    const result = await connection.stream(
      `SELECT * FROM ${rows} ${filter ? await whereOf(connection, rows, filter) : ''}`,
    );
    const columns = result.columnNames();
    yield { columns, rows: [] };
    for await (const rows of result.yieldRowsJs()) yield { columns, rows };
  } catch (error) {
    throw storageError('read a Parquet file', error);
  } finally {
    connection.closeSync();
  }
}

/** Leaves rows out by the few columns that are looked at. A filter of a column would believe what a file says of its row groups. */
async function whereOf(connection: DuckDBConnection, rows: string, { texts, textsOf }: RowFilter): Promise<string> {
  const none = await connection.run(`SELECT * FROM ${rows} LIMIT 0`);
  const columns = textsOf(new Map(none.columnNames().map((name, index) => [name, none.columnType(index).toString()])));
  if (columns === undefined) return '';
  await loadTexts(
    connection,
    'sought',
    ['text'],
    Array.from(texts, (text) => [text]),
  );
  await connection.run(`INSERT INTO sought SELECT lower(text) FROM sought`);
  // Lists of all texts of a row would take twice the time.
  const textsIn = columns.map((text) => `SELECT file_row_number AS row, ${text} AS text FROM ${rows}`);
  await connection.run(`CREATE TEMP TABLE found AS
    SELECT row FROM (${textsIn.join(' UNION ALL ')}) SEMI JOIN sought USING (text)`);
  const counted = await connection.runAndReadAll(`SELECT count(*) FROM found`);
  // In one query, every column would be read, also where no row is left.
  return counted.getRows()[0]?.[0] === 0n ? 'LIMIT 0' : 'WHERE file_row_number IN (SELECT row FROM found)';
}
