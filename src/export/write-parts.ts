import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sha256File } from '../core/digest.ts';
import type { DatasetShape, Row } from '../snapshot/columns.ts';
import { partName } from '../snapshot/layout.ts';
import type { ManifestFile } from '../snapshot/manifest.ts';
import { writeParquetFile } from '../snapshot/parquet-file.ts';

/** The parts of a snapshot that is not published yet, and their sums. */
export type Draft = {
  files: ManifestFile[];
  rows: number;
  bytes: number;
  /** Values written as null since their column's type cannot hold them. */
  unrepresentable: number;
};

/** How a draft is written. */
export type DraftOptions = {
  /** Made here. */
  folder: string;
  shape: DatasetShape;
  signal?: AbortSignal | undefined;
  /** Told the rows written so far, over all parts. */
  onProgress?: ((rows: number) => void) | undefined;
};

/** Writes one file for each part. Throws as `writeParquetFile` does, or the system's error; the folder then stays. */
export async function writeDraft(parts: Iterable<Iterable<Row>>, options: DraftOptions): Promise<Draft> {
  const { folder, onProgress } = options;
  const draft: Draft = { files: [], rows: 0, bytes: 0, unrepresentable: 0 };
  mkdirSync(folder, { mode: 0o700 });
  for (const rows of parts) {
    const name = partName(draft.files.length + 1);
    const path = join(folder, name);
    const written = await writeParquetFile({
      ...options,
      path,
      rows,
      onRows: (count) => onProgress?.(draft.rows + count),
    });
    const bytes = statSync(path).size;
    const sha256 = await sha256File(path);
    draft.files.push({
      name,
      rows: written.rows,
      bytes,
      sha256,
      min_key: written.minKey,
      max_key: written.maxKey,
    });
    draft.rows += written.rows;
    draft.bytes += bytes;
    draft.unrepresentable += written.unrepresentable;
  }
  return draft;
}
