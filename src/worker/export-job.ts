import { feedBegin } from '../erasure/plan.ts';
import type { PublishedDataset } from '../contract/datasets.ts';
import { refuseRestored } from '../erasure/fence/restore-guard.ts';
import { exportMirror, type MirrorExport } from '../export/export-mirror.ts';
import type { JobContext, OnProgress } from '../job/job-context.ts';
import { runJob, type JobResult } from '../job/run-job.ts';
import { compactChanges } from '../mirror/feeds.ts';
import type { Database } from '../mirror/database.ts';

/** The published snapshots. Incomplete when the last pass over the list of one of them was not complete. */
export type ExportJobResult = JobResult & { snapshots: MirrorExport[] };

/** What to publish of which datasets, and from where. */
type ExportTask = {
  datasets: readonly PublishedDataset[];
  kind: 'full' | 'delta';
  /** A connection to the mirror for reading only. */
  source: Database;
  onProgress?: OnProgress<PublishedDataset>;
};

/** Publishes one snapshot of each dataset, as one run of `export` or of `delta`. */
export function runExportJob(
  context: JobContext,
  { datasets, kind, source, onProgress: onRows }: ExportTask,
): Promise<ExportJobResult> {
  return runJob(context, kind === 'full' ? 'export' : 'delta', async (own) => {
    const { db, settings, clock } = own;
    refuseRestored(db, settings.dataDir);
    const snapshots: MirrorExport[] = [];
    for (const dataset of datasets) {
      const onProgress = (done: number, total: number | null): void => onRows?.(dataset, done, total);
      snapshots.push(await exportMirror(own, { source, dataset, kind, onProgress }));
    }
    // Later deltas continue these snapshots, so older changes need not be kept one by one.
    if (kind === 'full') compactChanges(db, feedBegin({ settings, clock }));
    const counts = Object.fromEntries(snapshots.map(({ dataset, rows }) => [dataset, rows]));
    const isProved = snapshots.every(({ verdict }) => verdict === 'complete');
    return { outcome: isProved ? 'done' : 'incomplete', counts, snapshots };
  });
}
