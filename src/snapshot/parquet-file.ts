import { dirname } from 'node:path';
import type { DuckDBTableFunction } from '@duckdb/node-api';
import type { DatasetShape, Row } from './columns.ts';
import { duckDbApi, openDuckDb, sqlText } from './duckdb.ts';
import { type Batch, type WrittenRows, batchRows, valueWriters } from './row-batches.ts';
import { storageError } from './storage-error.ts';

/** One Parquet file to write. */
export type ParquetFile = {
  /** Where the file is written. An existing file is overwritten. */
  path: string;
  shape: DatasetShape;
  /** In ascending byte order of the key, each key once. */
  rows: Iterable<Row>;
  signal?: AbortSignal | undefined;
  /** Called every few thousand rows with the number of rows taken so far. */
  onRows?: ((rows: number) => void) | undefined;
};

const memoryMaxMb = 256;
const rowGroupRowsMax = 20_480;
// Keeps memory flat when each row has a megabyte. Ordinary rows reach the limit of rows first.
const rowGroupBytesMax = 16 * 1024 * 1024;

/** The options of `COPY … TO` with which every published file is written. */
export const copyOptions = `(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE ${rowGroupRowsMax},
  ROW_GROUP_SIZE_BYTES ${rowGroupBytesMax}, USE_TMP_FILE false)`;

/**
 * Writes rows into one Parquet file, in the order given, in constant memory; no rows give a valid file that has the
 * schema. The event loop runs between batches. Throws what `rows` throws, the signal's reason when aborted, and `storage`
 * when the file cannot be written; then the rest at `path` is no Parquet file. Does not fsync.
 */
export async function writeParquetFile(file: ParquetFile): Promise<WrittenRows> {
  const written: WrittenRows = { rows: 0, minKey: null, maxKey: null, unrepresentable: 0 };
  const batches = batchRows(file.rows, file.shape, written);
  let failure: { reason: unknown } | undefined;
  const feed = feedFunction(file.shape, () => {
    try {
      file.signal?.throwIfAborted();
      file.onRows?.(written.rows);
      const next = batches.next();
      return next.done ? undefined : next.value;
    } catch (error) {
      failure = { reason: error };
      throw error;
    }
  });
  try {
    // One thread: more make the one stream of rows no faster, and could change its order.
    using database = await openDuckDb({ folders: [dirname(file.path)], memoryMaxMb, threads: 1 });
    database.connection.registerTableFunction(feed);
    await database.connection.run(`COPY (SELECT * FROM feed()) TO ${sqlText(file.path)} ${copyOptions}`);
  } catch (error) {
    // DuckDB would wrap our own error and keep only its words.
    throw failure ? failure.reason : storageError('write a Parquet file', error);
  } finally {
    batches.return();
  }
  return written;
}

/** An SQL table function with the columns of the shape. It asks for a batch of rows at a time. */
function feedFunction(shape: DatasetShape, nextBatch: () => Batch | undefined): DuckDBTableFunction {
  return duckDbApi().DuckDBTableFunction.create({
    name: 'feed',
    bindFunction: (bind) => {
      for (const { name, type } of shape.columns) bind.addResultColumn(name, valueWriters[type].type());
    },
    initFunction: (init) => init.setMaxThreads(1),
    mainFunction: (_info, chunk) => {
      const batch = nextBatch();
      if (batch) chunk.setColumns(batch);
      else chunk.rowCount = 0;
    },
  });
}
