import { join } from 'node:path';
import { measureFile } from '../core/digest.ts';
import { RowText } from '../contract/row-text.ts';
import type { DatasetShape, Row } from '../snapshot/columns.ts';
import { partName } from '../snapshot/file-names.ts';
import type { ManifestFile, PublishedColumn } from '../snapshot/manifest.ts';
import { writeParquetFile } from '../snapshot/parquet-file.ts';

/** The parts of a snapshot that is not published yet, and their sums. */
export type WrittenParts = {
  files: ManifestFile[];
  rows: number;
  bytes: number;
  /** Values written as null since their column's type cannot hold them. */
  unrepresentable: number;
};

/** How parts are written. */
export type WriteOptions = {
  folder: string;
  shape: DatasetShape;
  columns: readonly PublishedColumn[];
  signal: AbortSignal;
  /** Called with the number of rows written so far, over all parts. */
  onProgress: (rows: number) => void;
};

/** Writes one file for each part. Throws as `writeParquetFile` does, or the system's error; then the folder stays. */
export async function writeParts(
  parts: Iterable<Iterable<Row | RowText>>,
  { folder, shape, columns, signal, onProgress }: WriteOptions,
): Promise<WrittenParts> {
  const sums: WrittenParts = { files: [], rows: 0, bytes: 0, unrepresentable: 0 };
  for (const rows of parts) {
    const name = partName(sums.files.length + 1);
    const path = join(folder, name);
    const onRows = (count: number): void => onProgress(sums.rows + count);
    const written = await writeParquetFile({ path, shape, columns, rows, signal, onRows });
    const { bytes, sha256 } = await measureFile(path);
    const { minKey, maxKey } = written;
    sums.files.push({ name, rows: written.rows, bytes, sha256, min_key: minKey, max_key: maxKey });
    sums.rows += written.rows;
    sums.bytes += bytes;
    sums.unrepresentable += written.unrepresentable;
  }
  return sums;
}

/**
 * Splits a stream of rows into parts of at most `partRows` rows, each row made by `make`, and holds only one row at a time.
 * A text of rows is in one part: its reader ends it where a part ends.
 * There is always a first part, which may be empty; every further part has a row. A part must be read to its end before
 * the next part.
 */
export function* splitRows<Row, Made>(
  rows: Iterator<Row>,
  partRows: number,
  make: (row: Row) => Made,
): Generator<Iterable<Made>, void> {
  let next = rows.next();
  do {
    yield (function* () {
      for (let taken = 0; taken < partRows && !next.done;) {
        taken += next.value instanceof RowText ? next.value.rows : 1;
        yield make(next.value);
        next = rows.next();
      }
    })();
  } while (!next.done);
}
