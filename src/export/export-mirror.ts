import type { Clock } from '../core/clock.ts';
import type { Settings } from '../config/settings.ts';
import type { Database } from '../mirror/database.ts';
import { withSnapshotSource } from '../mirror/snapshot-source.ts';
import type { Dataset } from '../snapshot/columns.ts';
import { exportDataset, type ExportResult } from './export-dataset.ts';

/** What publishing a dataset of the mirror needs. */
export type ExportMirrorParts = {
  /** A connection that serves nothing else meanwhile. */
  db: Database;
  dataset: Dataset;
  settings: Settings;
  clock: Clock;
  signal: AbortSignal;
  onProgress: (rows: number, total: number) => void;
};

/** What was published, and the verdict of the pass that vouches for it; null when no pass has ended yet. */
export type MirrorExport = ExportResult & { dataset: Dataset; verdict: 'complete' | 'incomplete' | null };

/** Publishes one dataset as one moment of the mirror shows it. Throws what `exportDataset` throws. */
export function exportMirror(parts: ExportMirrorParts): Promise<MirrorExport> {
  const { db, dataset, settings, clock, signal, onProgress } = parts;
  return withSnapshotSource(db, dataset, async ({ pass, rowCount, rows }) => {
    const result = await exportDataset({
      dataDir: settings.dataDir,
      dataset,
      rows,
      settings: settings.export,
      pass,
      erasureEpoch: 0,
      clock,
      signal,
      onProgress: (done) => onProgress(done, rowCount),
    });
    return { dataset, verdict: pass?.verdict ?? null, ...result };
  });
}
