import { createRequire } from 'node:module';
import type * as DuckDbApi from '@duckdb/node-api';
import { shrinkHeap } from '../core/heap.ts';
import { pausing } from '../core/pausing.ts';

let api: typeof DuckDbApi | undefined;

/** DuckDB's package. The first call loads it, so that a command that uses no DuckDB does not wait for it. */
export function duckDbApi(): typeof DuckDbApi {
  return (api ??= loadApi());
}

/** A text that begins with a byte order mark keeps it: the package's own decoder takes it away, and makes another identifier of one. */
function loadApi(): typeof DuckDbApi {
  const load = createRequire(import.meta.url);
  const accessors = load('@duckdb/node-api/lib/vectors/dataAccessors.js') as { textDecoder: unknown };
  accessors.textDecoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return load('@duckdb/node-api') as typeof DuckDbApi;
}

/** What a database in memory may use. An abort interrupts its queries. */
export type DuckDbLimits = {
  /** The only folders below which it may read and write files. */
  folders: readonly string[];
  memoryMaxMb: number;
  threads: number;
  /** A database file to open beside the one in memory. */
  attached?: { as: string; path: string; isReadOnly: boolean };
  signal?: AbortSignal;
};

/** A connection that closes its database with itself. `connect` gives others to that database, which close with it. */
export type DuckDb = Disposable & {
  readonly connection: DuckDbApi.DuckDBConnection;
  connect: () => Promise<DuckDbApi.DuckDBConnection>;
};

/** Opens a DuckDB in memory without network, extensions or other files, for good. One thread keeps rows in order. */
export async function openDuckDb({ folders, memoryMaxMb, threads, attached, signal }: DuckDbLimits): Promise<DuckDb> {
  shrinkHeap();
  const instance = await duckDbApi().DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    // The left side of a join stays the streamed side. On the other side, rows would change their order and fill the memory.
    disabled_optimizers: 'build_side_probe_side,join_order',
    // A file is read as it is now.
    enable_external_file_cache: 'false',
    memory_limit: `${memoryMaxMb}MiB`,
    preserve_insertion_order: 'false',
    // Without a folder to spill to, too much data is an error, and never a file with personal data that no scan knows.
    temp_directory: '',
    threads: String(threads),
  });
  const connection = await instance.connect();
  const interrupt = (): void => connection.interrupt();
  signal?.addEventListener('abort', interrupt);
  const database: DuckDb = {
    connection,
    connect: () => instance.connect(),
    [Symbol.dispose]: () => {
      signal?.removeEventListener('abort', interrupt);
      connection.closeSync();
      instance.closeSync();
    },
  };
  try {
    if (attached)
      await connection.run(
        `ATTACH ${sqlText(attached.path)} AS ${sqlName(attached.as)} (TYPE duckdb${attached.isReadOnly ? ', READ_ONLY' : ''})`,
      );
    // A folder is told as itself, to write in it, and as paths are told that are read.
    const allowed = [...folders.map(sqlText), ...folders.map(sqlPath)];
    await connection.run(`SET allowed_directories = [${allowed.join(', ')}]`);
    await connection.run(`SET enable_external_access = false`);
    await connection.run(`SET lock_configuration = true`);
    return database;
  } catch (error) {
    database[Symbol.dispose]();
    throw error;
  }
}

/**
 * The names under which DuckDB tells where in which Parquet file a row stands. A column of a file with such a name would be read in
 * its place: then an erasure and a table would count rows by that column's values.
 */
export const rowPlaceNames: readonly string[] = ['filename', 'file_row_number', 'file_index'];

/** Runs queries in a database of their own. An abort interrupts them; then the signal's reason is thrown. */
export async function withDuckDb<T>(
  limits: DuckDbLimits & { signal: AbortSignal },
  use: (connection: DuckDbApi.DuckDBConnection) => Promise<T>,
): Promise<T> {
  limits.signal.throwIfAborted();
  using database = await openDuckDb(limits);
  try {
    return await use(database.connection);
  } catch (error) {
    limits.signal.throwIfAborted();
    throw error;
  }
}

/** Fills a temporary table with texts: as values, never as SQL, which errors can quote. */
export async function loadTexts(
  connection: DuckDbApi.DuckDBConnection,
  table: string,
  columns: readonly string[],
  rows: Iterable<readonly string[]>,
): Promise<void> {
  await connection.run(
    `CREATE OR REPLACE TEMP TABLE ${table} (${columns.map((name) => `${name} VARCHAR`).join(', ')})`,
  );
  const appender = await connection.createAppender(table);
  const pause = pausing();
  let number = 0;
  for (const row of rows) {
    for (const text of row) appender.appendVarchar(text);
    appender.endRow();
    number += 1;
    if (number % rowsAtOnce === 0) await pause();
  }
  appender.closeSync();
}

const rowsAtOnce = 1000;

/** A text as an SQL literal. */
export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A path as SQL reads it, for this file alone: DuckDB takes `*`, `?` and `[` for a pattern, which files beside it can match. */
function sqlPath(path: string): string {
  return sqlText(path.replaceAll(/[*?[]/g, '[$&]'));
}

/** Paths of files that are read, as an SQL list. */
export function sqlPaths(paths: readonly string[]): string {
  return `[${paths.map(sqlPath).join(',\n  ')}]`;
}

/**
 * The rows of Parquet files, as SQL. Only the files tell their columns: DuckDB would take a folder that is named like `name=acme` for
 * the column `name`, in the place of the one that each file has. `options` are others of `read_parquet`.
 */
export function parquetRows(paths: readonly string[], ...options: string[]): string {
  return `read_parquet(${[sqlPaths(paths), 'hive_partitioning = false', ...options].join(', ')})`;
}

/** A column's name as SQL writes it. */
export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
