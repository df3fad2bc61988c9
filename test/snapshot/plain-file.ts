import type { DatasetShape, Row } from '../../src/snapshot/columns.ts';
import type { ParquetFile } from '../../src/snapshot/parquet-file.ts';
import { numbering } from '../export/export-fixture.ts';

/** A file of rows that is written to its end, with no column but those of its shape. */
export function plainFile(path: string, shape: DatasetShape, rows: Iterable<Row>): ParquetFile {
  const columns = numbering(shape.columns);
  return { path, shape, columns, added: {}, rows, signal: new AbortController().signal, onRows: () => undefined };
}
