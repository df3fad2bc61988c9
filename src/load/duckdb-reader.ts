import { blobsOf, type DuckDb } from '../snapshot/duckdb.ts';
import { storageError } from '../snapshot/storage-error.ts';

/** Reads published Parquet files by DuckDB. */
export type Reader = DuckDb['connection'];

/** The rows of a SELECT statement, as texts. Throws `storage`, without DuckDB's words, which may quote a value. */
export async function rowsRead(reader: Reader, sql: string): Promise<string[][]> {
  return explained(async () => (await reader.runAndReadAll(sql)).getRowsJS() as string[][]);
}

/** The lines that a SELECT statement makes, as BLOBs, in pieces of at least `bytesLeast` but the last. Throws as `rowsRead`. */
export async function* linesRead(reader: Reader, sql: string, bytesLeast = 1): AsyncGenerator<Buffer> {
  const result = await explained(() => reader.stream(sql));
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const chunk = await explained(() => result.fetchChunk());
    if (!chunk || chunk.rowCount === 0) break;
    for (const piece of blobsOf(chunk)) {
      pieces.push(piece);
      bytes += piece.length;
    }
    if (bytes < bytesLeast) continue;
    yield Buffer.concat(pieces, bytes);
    [pieces, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(pieces, bytes);
}

async function explained<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw storageError('read published files', error);
  }
}
