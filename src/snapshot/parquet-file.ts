import { dirname } from 'node:path';
import type { DuckDBTableFunction } from '@duckdb/node-api';
import { rowMarks, RowText } from '../contract/row-text.ts';
import type { ColumnType, DatasetShape, Row } from './columns.ts';
import type { PublishedColumn } from './manifest.ts';
import { duckDbApi, openDuckDb, sqlName, sqlText } from './duckdb.ts';
import { type Batch, type WrittenRows, batchRows, valueWriters } from './row-batches.ts';
import { storageError } from './storage-error.ts';

/** One Parquet file to write. */
export type ParquetFile = {
  /** Where the file is written. An existing file is overwritten. */
  path: string;
  shape: DatasetShape;
  /** The columns with their numbers. */
  columns: readonly PublishedColumn[];
  /** Columns after those of the shape, of integers: every row has this value in them. */
  added: Readonly<Record<string, number>>;
  /** In ascending byte order of the key, each key once. */
  rows: Iterable<Row | RowText>;
  signal: AbortSignal;
  /** Called every few thousand rows with the number of rows taken so far. */
  onRows: (rows: number) => void;
};

const memoryMaxMb = 256;
const rowGroupRowsMax = 40_960;
// Keeps memory flat when each row has a megabyte. Ordinary rows reach the limit of rows first.
const rowGroupBytesMax = 16 * 1024 * 1024;

/** The options of `COPY … TO` with which every published file is written. */
export function copyOptions(columns: readonly PublishedColumn[]): string {
  const ids = columns.map(({ name, id, element_id: elementId }) => {
    const number = elementId === undefined ? id : `{__duckdb_field_id: ${id}, element: ${elementId}}`;
    return `${sqlText(name)}: ${number}`;
  });
  return `(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE ${rowGroupRowsMax},
  ROW_GROUP_SIZE_BYTES ${rowGroupBytesMax}, USE_TMP_FILE false, FIELD_IDS {${ids.join(', ')}})`;
}

/**
 * Writes rows into one Parquet file, in the order given, in constant memory; no rows give a valid file that has the
 * schema. The event loop runs between batches. Throws what `rows` throws, the signal's reason when aborted, and `storage`
 * when the file cannot be written; then the rest at `path` is no Parquet file. Does not fsync.
 */
export async function writeParquetFile(file: ParquetFile): Promise<WrittenRows> {
  const written: WrittenRows = { rows: 0, unrepresentable: 0 };
  using batches = batchRows(file.rows, file.shape, written);
  let failure: { reason: unknown } | undefined;
  const feed = feedFunction(file.shape, () => {
    try {
      file.signal.throwIfAborted();
      file.onRows(written.rows);
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
    await database.connection.run(
      `COPY (${readFeed(file.shape, file.added)}) TO ${sqlText(file.path)} ${copyOptions(file.columns)}`,
    );
  } catch (error) {
    // DuckDB would wrap our own error and keep only its words.
    throw failure ? failure.reason : storageError('write a Parquet file', error);
  }
  return written;
}

/** The name of a column of the feed: none of a dataset's, whose promoted columns can have any name. */
function feedColumn(index: number): string {
  return `value_${index}`;
}

/** SQL: every row of the feed. A text becomes as many rows as it holds, in its order; any other row stays as it is. */
function readFeed({ columns }: DatasetShape, added: ParquetFile['added']): string {
  const values = columns.map(({ name, type }, index) => {
    const field = `nullif(fields[${index + 1}], ${sqlText(rowMarks.none)})`;
    return `CASE WHEN row_text IS NULL THEN ${feedColumn(index)} ELSE ${fromText[type](field)} END AS ${sqlName(name)}`;
  });
  for (const [name, value] of Object.entries(added)) values.push(`CAST(${value} AS BIGINT) AS ${sqlName(name)}`);
  const lines = `CASE WHEN row_text IS NULL THEN [NULL] ELSE string_split(decode(row_text), ${sqlText(rowMarks.row)}) END`;
  return `SELECT ${values.join(', ')} FROM
    (SELECT *, string_split(line, ${sqlText(rowMarks.field)}) AS fields FROM (SELECT *, unnest(${lines}) AS line FROM feed()))`;
}

/** SQL: the value of a column from its text, which is as the mirror has it. */
const fromText: Readonly<Record<ColumnType, (text: string) => string>> = {
  string: (text) => text,
  int64: (text) => `CAST(${text} AS BIGINT)`,
  double: (text) => `CAST(${text} AS DOUBLE)`,
  boolean: (text) => `${text} = '1'`,
  'timestamp[us, UTC]': (text) => `CAST(${text} AS TIMESTAMPTZ)`,
  'list<string>': (text) =>
    `CASE WHEN ${text} = '[]' THEN []::VARCHAR[] WHEN contains(${text}, '\\') THEN from_json(${text}, '["VARCHAR"]')
      ELSE string_split(substring(${text}, 3, length(${text}) - 4), '","') END`,
};

/** An SQL table function with the columns of the shape, by number, and one for texts of rows. It asks for a batch at a time. */
function feedFunction(shape: DatasetShape, nextBatch: () => Batch | undefined): DuckDBTableFunction {
  return duckDbApi().DuckDBTableFunction.create({
    name: 'feed',
    bindFunction: (bind) => {
      for (const [index, { type }] of shape.columns.entries())
        bind.addResultColumn(feedColumn(index), valueWriters[type].type());
      bind.addResultColumn('row_text', duckDbApi().BLOB);
    },
    initFunction: (init) => init.setMaxThreads(1),
    mainFunction: (_info, chunk) => {
      const batch = nextBatch();
      if (!batch) chunk.rowCount = 0;
      else if (batch instanceof RowText) {
        chunk.setColumns([...shape.columns.map(() => [null]), [duckDbApi().blobValue(batch.bytes)]]);
        // Gives the memory back at once, where nothing else is in it: V8 would collect it dozens of megabytes later.
        const { buffer, length } = batch.bytes;
        if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0);
      } else chunk.setColumns([...batch, batch[0]?.map(() => null) ?? []]);
    },
  });
}
