import { join } from 'node:path';
import packageJson from '../../package.json' with { type: 'json' };
import { type Clock, isoTime } from '../core/clock.ts';
import { explainStorageError } from '../core/storage-error.ts';
import type { Dataset, Row } from '../snapshot/columns.ts';
import { temporaryFolder } from '../core/temporary-folder.ts';
import { temporaryPrefix } from '../snapshot/layout.ts';
import type { Manifest } from '../snapshot/manifest.ts';
import { findSnapshots } from '../snapshot/list-published.ts';
import { publishSnapshot } from '../snapshot/publish.ts';
import { nextSnapshotId } from '../snapshot/snapshot-id.ts';
import { writeDraft } from './write-parts.ts';
import { type PublicationSettings, publicationOf } from './promote-and-mask.ts';
import { clearUnpublished, removeExpired, withdrawSnapshot } from './retire-snapshots.ts';
import { splitRows } from './split-rows.ts';

/** How a dataset is exported. */
type ExportSettings = PublicationSettings & {
  /** The most rows that one part holds. */
  partRows: number;
  /** Snapshots kept of the dataset, the current one included. Two or more, and a reader can finish what it opened. */
  keep: number;
};

/** One export of one dataset. No other export of this dataset may run in the data folder meanwhile. */
export type ExportRequest = {
  dataDir: string;
  dataset: Dataset;
  /** Mirror rows in ascending byte order of the dataset's key. Closed when the export ends, however it ends. */
  rows: Iterable<Row>;
  settings: ExportSettings;
  /** The walk that the rows come from; null when there was none. */
  pass: Manifest['pass'];
  erasureEpoch: number;
  /** The newest change of the mirror that the rows show. */
  changes?: Manifest['changes'];
  /** Where the rows are only those that were added or changed since a snapshot: which one. It is the newest. */
  basedOn?: string | undefined;
  /** Runs the publishing, or throws, where the rows must not be published any more. Default: runs it. */
  publishing?: ((publish: () => void) => void) | undefined;
  clock: Clock;
  signal?: AbortSignal | undefined;
  /** Told the rows written so far, every few thousand rows. */
  onProgress?: ((rows: number) => void) | undefined;
};

/** What an export published. */
export type ExportResult = {
  snapshotId: string;
  kind: Manifest['kind'];
  rows: number;
  files: number;
  bytes: number;
  /** Values published as null since their column's type cannot hold them. */
  unrepresentable: number;
  /** Snapshots that were beyond those to keep. */
  removed: string[];
};

/**
 * Writes a new snapshot of a dataset, makes it the current one or its newest delta, and removes those beyond `keep`. No
 * rows give one part that has the schema. First clears what killed exports left. An error or an abort leaves no trace,
 * and what was published as it was. Throws the signal's reason when aborted, what `rows` throws, `usage` for settings
 * that cannot be, and `storage` for disk and files.
 */
export async function exportDataset(request: ExportRequest): Promise<ExportResult> {
  const { dataDir, dataset, settings, basedOn, clock, signal, onProgress } = request;
  const rows = request.rows[Symbol.iterator]();
  let snapshotId: string | undefined;
  try {
    const { shape, publish } = publicationOf(dataset, settings);
    clearUnpublished(dataDir, dataset);
    const createdAtMs = clock.now();
    snapshotId = nextSnapshotId(createdAtMs, findSnapshots(dataDir, dataset).at(-1)?.id);
    const folder = join(temporaryFolder(dataDir), `${temporaryPrefix(dataset)}${snapshotId}`);
    const parts = splitRows(rows, settings.partRows, publish);
    const draft = await writeDraft(parts, { folder, shape, signal, onProgress });
    signal?.throwIfAborted();
    const manifest: Manifest = {
      format_version: 1,
      dataset,
      snapshot_id: snapshotId,
      kind: basedOn === undefined ? 'full' : 'delta',
      created_at: isoTime(createdAtMs),
      pass: request.pass,
      erasure_epoch: request.erasureEpoch,
      changes: request.changes ?? null,
      ...(basedOn === undefined ? {} : { based_on: basedOn }),
      rows: draft.rows,
      files: draft.files,
      columns: shape.columns.map(({ name, type }) => ({ name, type })),
      generator: { name: packageJson.name, version: packageJson.version },
    };
    const publishing = request.publishing ?? ((publish) => publish());
    publishing(() => publishSnapshot(dataDir, folder, manifest));
    const removed = removeExpired(dataDir, dataset, settings.keep);
    const { files, ...sums } = draft;
    return { snapshotId, kind: manifest.kind, ...sums, files: files.length, removed };
  } catch (error) {
    clearQuietly(dataDir, dataset, snapshotId);
    throw explainStorageError(error, dataDir) ?? error;
  } finally {
    rows.return?.();
  }
}

function clearQuietly(dataDir: string, dataset: string, snapshotId: string | undefined): void {
  try {
    clearUnpublished(dataDir, dataset);
    if (snapshotId !== undefined) withdrawSnapshot(dataDir, dataset, snapshotId);
  } catch {
    // The error that brought us here is the one to report, and the next export clears again.
  }
}
