import type { BlobVector, DuckDb } from '../snapshot/duckdb.ts';
import { storageError } from '../snapshot/storage-error.ts';

/** Reads published Parquet files by DuckDB. */
export type Reader = DuckDb['connection'];

/** The rows of a SELECT statement, as texts. Throws `storage`, without DuckDB's words, which may quote a value. */
export async function rowsRead(reader: Reader, sql: string): Promise<string[][]> {
  return explained(async () => (await reader.runAndReadAll(sql)).getRowsJS() as string[][]);
}

/** The lines that a SELECT statement makes, as BLOBs, in pieces of some 2,000. Throws as `rowsRead`. */
export async function* linesRead(reader: Reader, sql: string): AsyncGenerator<Buffer> {
  const result = await explained(() => reader.stream(sql));
  for (;;) {
    const chunk = await explained(() => result.fetchChunk());
    if (!chunk || chunk.rowCount === 0) return;
    const { rowCount } = chunk;
    const column = chunk.getColumnVector(0) as BlobVector;
    // Short ones are views of the chunk, which lives no longer than this step.
    yield Buffer.concat(Array.from({ length: rowCount }, (_, row) => column.getItemBytes(row) ?? new Uint8Array()));
  }
}

async function explained<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw storageError('read published files', error);
  }
}
