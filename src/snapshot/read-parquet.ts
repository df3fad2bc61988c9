import { dirname, resolve } from 'node:path';
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
export type ParquetRows = { columns: readonly string[]; rows: readonly (readonly JS[])[] };

/**
 * Which rows are read: those with a text among these, or among these in lower case. `textsOf`: SQL for the texts of a row, as a list;
 * undefined for each row. `columns`: the types of a file's columns, as DuckDB names them.
 */
export type RowFilter = {
  texts: Iterable<string>;
  textsOf: (columns: ReadonlyMap<string, string>) => string | undefined;
};

/** Reads Parquet files. All throw `storage` for a file that cannot be read. */
export type ParquetReader = Disposable & {
  /** Every row of a file, or those that the filter leaves, in batches, in constant memory. */
  rows: (path: string, filter?: RowFilter) => AsyncGenerator<ParquetRows>;
  /** How many bytes of a file its columns have, with their filters. */
  columnBytes: (path: string) => Promise<number>;
};

/** A connection, and the texts that its table `sought` has. */
type Reading = { connection: DuckDBConnection; texts: RowFilter['texts'] | undefined };

/** Prepares to read any number of files at or below some paths, some at a time, with one database that the first file opens. */
export function openParquetReader(paths: readonly string[]): ParquetReader {
  const folders = paths.flatMap((path) => [resolve(path), dirname(resolve(path))]);
  let database: Promise<DuckDb> | undefined;
  let opened: DuckDb | undefined;
  const idle: Reading[] = [];
  /** Lends a connection that no other read has at present. */
  const lend = async (): Promise<Reading> => {
    database ??= openDuckDb({ folders, memoryMaxMb, threads: 1 });
    opened = await database;
    return idle.pop() ?? { connection: await opened.connect(), texts: undefined };
  };
  return {
    async *rows(path, filter) {
      try {
        const reading = await lend();
        const rows = parquetRows([resolve(path)]);
        const result = await reading.connection.stream(
          `SELECT * FROM ${rows} ${filter ? await whereOf(reading, rows, filter) : ''}`,
        );
        const columns = result.columnNames();
        for await (const some of result.yieldRowsJs()) yield { columns, rows: some };
        idle.push(reading);
      } catch (error) {
        throw storageError('read a Parquet file', error);
      }
    },
    async columnBytes(path) {
      try {
        const reading = await lend();
        const sums = await reading.connection.runAndReadAll(
          `SELECT sum(total_compressed_size) + sum(coalesce(bloom_filter_length, 0)) FROM parquet_metadata(${sqlPaths([resolve(path)])})`,
        );
        idle.push(reading);
        return Number(sums.getRows()[0]?.[0] ?? 0);
      } catch (error) {
        throw storageError('read a Parquet file', error);
      }
    },
    [Symbol.dispose]: () => opened?.[Symbol.dispose](),
  };
}

/** Leaves rows out by the few columns that are looked at. A filter of a column would believe what a file says of its row groups. */
async function whereOf(reading: Reading, rows: string, { texts, textsOf }: RowFilter): Promise<string> {
  const { connection } = reading;
  const none = await connection.run(`SELECT * FROM ${rows} LIMIT 0`);
  const list = textsOf(new Map(none.columnNames().map((name, index) => [name, none.columnType(index).toString()])));
  if (list === undefined) return '';
  if (reading.texts !== texts) {
    await loadTexts(
      connection,
      'sought',
      ['text'],
      Array.from(texts, (text) => [text]),
    );
    await connection.run(`INSERT INTO sought SELECT lower(text) FROM sought`);
    reading.texts = texts;
  }
  return `WHERE file_row_number IN (SELECT row FROM (SELECT file_row_number AS row, unnest(${list}) AS text FROM ${rows})
    SEMI JOIN sought USING (text))`;
}
