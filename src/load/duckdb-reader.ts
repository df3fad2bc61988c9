import type { DuckDb } from '../snapshot/duckdb.ts';
import { storageError } from '../snapshot/storage-error.ts';

/** Reads published Parquet files by DuckDB. */
export type Reader = DuckDb['connection'];

/** The rows of a SELECT statement, as texts. Throws `storage`, without DuckDB's words, which may quote a value. */
export async function rowsRead(reader: Reader, sql: string): Promise<string[][]> {
  return explained(async () => (await reader.runAndReadAll(sql)).getRowsJS() as string[][]);
}

/** The lines that a SELECT statement makes, in pieces of at least `lengthLeast` characters but the last. Throws as `rowsRead`. */
export async function* linesRead(reader: Reader, sql: string, lengthLeast = 1 << 20): AsyncGenerator<string> {
  const result = await explained(() => reader.stream(sql));
  let piece = '';
  for (;;) {
    const chunk = await explained(() => result.fetchChunk());
    if (!chunk || chunk.rowCount === 0) break;
    piece += (chunk.getColumnValues(0) as string[]).join('');
    if (piece.length < lengthLeast) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

async function explained<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw storageError('read published files', error);
  }
}
