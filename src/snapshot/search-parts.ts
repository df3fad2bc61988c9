import type { DuckDBConnection } from '@duckdb/node-api';
import { datasets, type PublishedDataset } from '../contract/datasets.ts';
import type { Sighting } from '../contract/identity.ts';
import { sightingsOf } from '../contract/row-readers.ts';
import { openDuckDb, parquetRows, sqlName } from './duckdb.ts';
import { type PublishedPart, checkPartRows, checkPartSize, unreadablePart } from './published-parts.ts';
import type { PublishedFiles } from './published-files.ts';

/** What is searched for in published files. */
export type PartSearch = {
  /** Prepares the connection. */
  prepare?: (connection: DuckDBConnection) => Promise<void>;
  /** Of files of one dataset, SQL for the places (`file`, `row`) of the rows sought. Without it, each row is. */
  sought?: (connection: DuckDBConnection, dataset: PublishedDataset, paths: readonly string[]) => Promise<string>;
  /** The columns that are read; all unless told. */
  columns?: (dataset: PublishedDataset) => readonly string[];
};

/** Rows of a part that were found. */
type FoundRows = { part: PublishedPart; rows: Sighting[] };

/** So many files are one query: one for each file would cost ten times as much. */
const filesAtOnce = 1000;

/**
 * Searches parts of published files: yields the rows found, in batches, by dataset and age. Columns that a search does not look
 * at are read only for the rows found. Throws `storage` when a part is missing, is not as published or cannot be read, since it
 * could hold anybody, and the signal's reason when aborted.
 */
export async function* searchParts(
  published: PublishedFiles,
  parts: readonly PublishedPart[],
  search: PartSearch,
  signal: AbortSignal,
): AsyncGenerator<FoundRows> {
  signal.throwIfAborted();
  using database = await openDuckDb({
    folders: [published.localFolder],
    memoryMaxMb: 512,
    threads: search.sought ? 2 : 1,
    signal,
  });
  const { connection } = database;
  try {
    await search.prepare?.(connection);
    for (const part of parts) checkPartSize(published, part);
    for (const all of Map.groupBy(parts, ({ dataset }) => dataset).values())
      for (let at = 0; at < all.length; at += filesAtOnce)
        yield* searchTogether({ connection, search, signal }, all.slice(at, at + filesAtOnce));
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

/** A search that goes on. */
type Searching = { connection: DuckDBConnection; search: PartSearch; signal: AbortSignal };

async function* searchTogether(searching: Searching, parts: readonly PublishedPart[]): AsyncGenerator<FoundRows> {
  const { connection, signal } = searching;
  const [first, ...others] = parts;
  if (!first) return;
  signal.throwIfAborted();
  let holding: readonly number[];
  try {
    await checkPartRows(connection, parts);
    holding = await markSought(searching, parts);
  } catch (error) {
    if (others.length === 0) throw unreadablePart(first, error);
    signal.throwIfAborted();
    // Which of them cannot be read is known where each is read by itself.
    for (const part of parts) yield* searchTogether(searching, [part]);
    return;
  }
  for (const number of holding) {
    const part = parts[number];
    if (part) yield* readPart(searching, part, number);
  }
}

/** Fills the temporary table `sought (file, row)`, and returns the numbers of the files in it. */
async function markSought({ connection, search }: Searching, parts: readonly PublishedPart[]): Promise<number[]> {
  const [first] = parts;
  if (!first || !search.sought) return [...parts.keys()];
  const paths = parts.map(({ path }) => path);
  const places = await search.sought(connection, first.dataset, paths);
  await connection.run(`CREATE OR REPLACE TEMP TABLE sought AS ${places}`);
  const files = await connection.runAndReadAll(`SELECT DISTINCT file FROM sought ORDER BY file`);
  return files.getRows().map(([file]) => Number(file));
}

async function* readPart(searching: Searching, part: PublishedPart, number: number): AsyncGenerator<FoundRows> {
  const { connection, search, signal } = searching;
  const { dataset, path } = part;
  const selected = search.columns?.(dataset).map(sqlName).join(', ') ?? '*';
  const isSought = search.sought ? `file_row_number IN (SELECT row FROM sought WHERE file = ${number})` : 'true';
  const fields = new Map(datasets[dataset].publishedFields.map(({ name, column }) => [column, name]));
  const read = sightingsOf(dataset);
  try {
    const found = await connection.stream(`SELECT ${selected} FROM ${parquetRows([path])} WHERE ${isSought}`);
    const names = found.columnNames().map((column) => fields.get(column) ?? column);
    for await (const chunk of found.yieldRowsJs()) {
      signal.throwIfAborted();
      const rows = chunk.map((row) => read(Object.fromEntries(names.map((name, index) => [name, row[index]]))));
      if (rows.length > 0) yield { part, rows };
    }
  } catch (error) {
    throw unreadablePart(part, error);
  }
}
