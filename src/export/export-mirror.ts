import type { Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import type { Settings } from '../config/settings.ts';
import type { Database } from '../mirror/database.ts';
import { whileEpoch } from '../mirror/erasure-epoch.ts';
import { withSnapshotSource } from '../mirror/snapshot-source.ts';
import type { Dataset } from '../snapshot/columns.ts';
import { findDeltaBase } from './delta-base.ts';
import { exportDataset, type ExportResult } from './export-dataset.ts';

/** What publishing a dataset of the mirror needs. */
export type ExportMirrorParts = {
  /** A connection that serves nothing else meanwhile. */
  db: Database;
  /** A connection for writing: nobody can be erased while a snapshot is published. */
  mirror: Database;
  dataset: Dataset;
  /** A delta is what has changed since the newest snapshot; a full one where that cannot be told. */
  kind: 'full' | 'delta';
  settings: Settings;
  clock: Clock;
  signal: AbortSignal;
  onProgress: (rows: number, total: number) => void;
};

/** What was published, and the verdict of the pass that vouches for it; null when no pass has ended yet. */
export type MirrorExport = ExportResult & { dataset: Dataset; verdict: 'complete' | 'incomplete' | null };

const triesMax = 3;

/**
 * Publishes one dataset as one moment of the mirror shows it, anew when somebody was erased since that moment. Throws what
 * `exportDataset` throws, and `busy` when that happens again and again.
 */
export async function exportMirror(parts: ExportMirrorParts): Promise<MirrorExport> {
  for (let tries = 1; tries <= triesMax; tries += 1) {
    const result = await exportMoment(parts);
    if (result !== 'outdated') return result;
  }
  throw new AppError(`people were erased during ${triesMax} exports of ${parts.dataset} in a row`, {
    code: 'busy',
    hint: 'export again when no erasure runs',
    retryable: true,
  });
}

function exportMoment(parts: ExportMirrorParts): Promise<MirrorExport | 'outdated'> {
  const { db, mirror, dataset, kind, settings, clock, signal, onProgress } = parts;
  const base = kind === 'delta' ? findDeltaBase(settings, dataset, clock.now()) : undefined;
  return withSnapshotSource(db, dataset, base?.changes ?? null, async (source) => {
    const { pass, erasureEpoch, changes, rowCount, rows } = source;
    const outdated = new Error('somebody was erased since these rows were read');
    try {
      const result = await exportDataset({
        dataDir: settings.dataDir,
        dataset,
        rows,
        settings: settings.export,
        pass,
        erasureEpoch,
        changes,
        basedOn: source.kind === 'delta' ? base?.snapshotId : undefined,
        publishing: (publish) => {
          if (!whileEpoch(mirror, erasureEpoch, publish)) throw outdated;
        },
        clock,
        signal,
        onProgress: (done) => onProgress(done, rowCount),
      });
      return { dataset, verdict: pass?.verdict ?? null, ...result };
    } catch (error) {
      if (error === outdated) return 'outdated';
      throw error;
    }
  });
}
