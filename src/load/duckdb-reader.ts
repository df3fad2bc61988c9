import { basename } from 'node:path';
import type { DuckDb } from '../snapshot/duckdb.ts';
import { storageError } from '../snapshot/storage-error.ts';

/** Reads published Parquet files by DuckDB. */
export type Reader = DuckDb['connection'];

/**
 * The rows of a statement, as texts. Throws `storage`, without DuckDB's words, which may quote a value. `warehouse`: the file that the
 * statement is about, too.
 */
export async function rowsRead(reader: Reader, sql: string, warehouse?: string): Promise<string[][]> {
  return explained(async () => (await reader.runAndReadAll(sql)).getRowsJS() as string[][], warehouse);
}

/** The lines that a SELECT statement makes, as BLOBs, in pieces of at least `bytesLeast` but the last. Throws as `rowsRead`. */
export async function* linesRead(reader: Reader, sql: string, bytesLeast = 1): AsyncGenerator<Buffer> {
  const result = await explained(() => reader.stream(sql));
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for (;;) {
    const chunk = await explained(() => result.fetchChunk());
    if (!chunk || chunk.rowCount === 0) break;
    for (const { bytes: piece } of chunk.getColumnValues(0) as { bytes: Uint8Array }[]) {
      pieces.push(piece);
      bytes += piece.length;
    }
    if (bytes < bytesLeast) continue;
    yield Buffer.concat(pieces, bytes);
    [pieces, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(pieces, bytes);
}

async function explained<T>(act: () => Promise<T>, warehouse?: string): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (warehouse !== undefined && error instanceof Error && isAbout(warehouse, error.message))
      throw storageError(`read or write ${warehouse}`, error, `the volume of ${warehouse}`);
    throw storageError('read published files', error);
  }
}

/** DuckDB names the file that it cannot read or write, but not the one that it cannot make last: of these, that is the warehouse's. */
function isAbout(warehouse: string, words: string): boolean {
  return words.includes(basename(warehouse)) || words.includes('fsync failed');
}
