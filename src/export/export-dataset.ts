import { join, dirname } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { measureFile } from '../core/digest.ts';
import { addedColumns, type Row, type Column } from '../snapshot/columns.ts';
import { partName, nextSnapshotId } from '../snapshot/file-names.ts';
import {
  type ManifestFile,
  type PublishedColumn,
  type Manifest,
  currentIds,
  snapshotOf,
} from '../snapshot/manifest.ts';
import { type ParquetFile, writeParquetFile } from '../snapshot/parquet-file.ts';
import { type Clock, isoTime } from '../core/clock.ts';
import { explainStorageError } from '../core/storage-error.ts';
import type { PublishedDataset } from '../contract/datasets.ts';
import { RowText } from '../contract/row-text.ts';
import type { SnapshotSource } from '../mirror/snapshot-source.ts';
import { withDuckDb } from '../snapshot/duckdb.ts';
import { type PreparedTable, prepareTable } from '../snapshot/iceberg/prepare-table.ts';
import { readTable } from '../snapshot/iceberg/table-files.ts';
import type { FinishedSnapshot } from '../snapshot/publish.ts';
import type { PublishedFiles } from '../snapshot/published-files.ts';
import type { WrittenRows } from '../snapshot/row-batches.ts';
import { type PublicationSettings, publicationOf } from './promote-and-mask.ts';
import { clearUnpublished } from './retire-snapshots.ts';

/** One export of one dataset. No other export or rewrite of this dataset may run meanwhile. */
export type ExportRequest = Pick<
  SnapshotSource,
  'unfinishedPass' | 'newestPass' | 'erasureEpoch' | 'changes' | 'seq'
> & {
  published: PublishedFiles;
  dataset: PublishedDataset;
  /** Mirror rows in ascending byte order of the dataset's key. The export closes them at its end, also after an error. */
  rows: Iterable<Row | RowText>;
  settings: PublicationSettings & { partRows: number };
  /** Numbers the columns that are published: the same column has the same number each time. */
  numbering: (columns: readonly Column[]) => PublishedColumn[];
  pass: Manifest['pass'];
  /** Of `fence`: the SHA-256 of its entries. */
  fence?: Manifest['fence'];
  /**
   * For a delta: the snapshot since which the rows were added or changed, which is the newest one; and the snapshot of
   * `deletions` that says which rows have left.
   */
  continues: { basedOn: string; deletions: string } | undefined;
  /** The table to publish, and for a delta the keys whose rows have left since; null for none. */
  table: { location: string; gone: () => Iterable<string> } | null;
  clock: Clock;
  signal: AbortSignal;
  /** Called every few thousand rows with the number of rows written so far. */
  onProgress: (rows: number) => void;
};

/** The memory that DuckDB may use for the metadata of a table. */
const memoryMaxMb = 256;

/** What an export published, and in how many files and bytes. */
export type ExportResult = WrittenRows & { snapshotId: string; kind: Manifest['kind']; files: number; bytes: number };

/** A snapshot that is written and not published: what to publish, and what was made. */
export type StagedSnapshot = { finished: FinishedSnapshot; result: ExportResult };

/**
 * Writes a new snapshot of a dataset into a draft, from which it can be published. Without rows there is one part that has
 * the schema. First clears what killed exports left. After an error or an abort, nothing is left of it. Throws the signal's
 * reason when aborted, what `rows` throws, `usage` for settings that cannot be, and `storage` for disk and files.
 */
export async function stageDataset(request: ExportRequest): Promise<StagedSnapshot> {
  const { published, dataset, settings, continues, seq, clock, signal, onProgress } = request;
  const rows = request.rows[Symbol.iterator]();
  try {
    const { shape, publish, publishTexts, decided, replaced, misfits } = publicationOf(dataset, settings);
    const columns = request.numbering([...shape.columns, ...addedColumns(dataset)]);
    clearUnpublished(published, dataset);
    const createdAtMs = clock.now();
    const snapshotId = nextSnapshotId(createdAtMs, published.listSnapshots(dataset).at(-1)?.id);
    const folder = published.openDraft({ dataset, snapshotId });
    const parts = splitRows(rows, settings.partRows, (row) =>
      row instanceof RowText ? (publishTexts?.(row) ?? row) : publish(row),
    );
    const added = Object.fromEntries(addedColumns(dataset).map(({ name }) => [name, seq]));
    const { files, ...sums } = await writeParts(parts, { folder, shape, columns, added, signal, onProgress });
    signal.throwIfAborted();
    const manifest: Manifest = {
      format_version: 1,
      dataset,
      snapshot_id: snapshotId,
      kind: continues ? 'delta' : 'full',
      created_at: isoTime(createdAtMs),
      pass: request.pass,
      ...(request.unfinishedPass === undefined ? {} : { unfinished_pass: request.unfinishedPass }),
      ...(request.newestPass && { newest_pass: request.newestPass }),
      ...(request.fence && { fence: request.fence }),
      erasure_epoch: request.erasureEpoch,
      seq,
      changes: request.changes,
      ...(continues ? { based_on: continues.basedOn, deletions: continues.deletions } : {}),
      rows: sums.rows,
      files,
      columns,
      ...(Object.keys(replaced).length > 0 && { replaced }),
      ...(Object.keys(misfits).length > 0 && { misfits }),
      publication: { ...decided, part_rows: settings.partRows },
      generator: { name: packageJson.name, version: packageJson.version },
    };
    const table = await prepareExportedTable(request, manifest, folder);
    signal.throwIfAborted();
    const result = { snapshotId, kind: manifest.kind, ...sums, files: files.length };
    return { finished: { manifest, table }, result };
  } catch (error) {
    clearQuietly(published, dataset);
    throw explainStorageError(error, published.location) ?? error;
  } finally {
    rows.return?.();
  }
}

async function prepareExportedTable(
  { published, dataset, table, signal }: ExportRequest,
  manifest: Manifest,
  draft: string,
): Promise<PreparedTable | undefined> {
  if (!table) return undefined;
  const isDelta = manifest.kind === 'delta';
  const before = isDelta ? currentIds(published.readCurrent(), dataset) : [];
  const chain = [...before.map((snapshotId) => published.readManifest({ dataset, snapshotId })), manifest];
  const limits = { folders: [published.localFolder, dirname(draft)], memoryMaxMb, threads: 1, signal };
  return withDuckDb(limits, (connection) =>
    prepareTable(connection, {
      published,
      dataset,
      location: table.location,
      chain,
      written: manifest,
      pathOf: (of, { name }) => (of === manifest ? join(draft, name) : published.localPath(snapshotOf(of), name)),
      previous: readTable(published, dataset),
      change: isDelta ? { is: 'delta', gone: table.gone() } : { is: 'full' },
    }),
  );
}

function clearQuietly(published: PublishedFiles, dataset: string): void {
  try {
    clearUnpublished(published, dataset);
  } catch {
    // The first error is the one to report, and the next export clears again.
  }
}

/** The parts of a snapshot that is not published yet, and their sums. */
type WrittenParts = WrittenRows & { files: ManifestFile[]; bytes: number };

/** How parts are written. `onProgress` is called with the number of rows written so far, over all parts. */
type WriteOptions = Pick<ParquetFile, 'shape' | 'columns' | 'added' | 'signal'> & {
  folder: string;
  onProgress: (rows: number) => void;
};

/** Writes one file for each part. Throws as `writeParquetFile` does, or the system's error; then the folder stays. */
export async function writeParts(
  parts: Iterable<Iterable<Row | RowText>>,
  { folder, shape, columns, added, signal, onProgress }: WriteOptions,
): Promise<WrittenParts> {
  const sums: WrittenParts = { files: [], rows: 0, bytes: 0, unrepresentable: 0 };
  for (const rows of parts) {
    const name = partName(sums.files.length + 1);
    const path = join(folder, name);
    const onRows = (count: number): void => onProgress(sums.rows + count);
    const written = await writeParquetFile({ path, shape, columns, added, rows, signal, onRows });
    const { bytes, sha256 } = await measureFile(path);
    sums.files.push({ name, rows: written.rows, bytes, sha256 });
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
