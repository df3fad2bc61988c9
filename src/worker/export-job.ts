import { feedBegin } from '../erasure/plan.ts';
import { refuseRestored } from '../erasure/fence/restore-guard.ts';
import { exportMirror, type MirrorExport } from '../export/export-mirror.ts';
import { compactChanges } from '../mirror/changes.ts';
import type { Database } from '../mirror/database.ts';
import type { Dataset } from '../snapshot/columns.ts';
import type { JobSurroundings, OnProgress } from './job-parts.ts';
import { runJob, type JobResult } from './run-job.ts';

/** What was published. Incomplete when a snapshot is not vouched for by a complete pass. */
export type ExportJobResult = JobResult & { snapshots: MirrorExport[] };

/** What to publish of which datasets. */
type ExportTask = { datasets: readonly Dataset[]; kind: 'full' | 'delta' };

/**
 * Publishes one snapshot of each dataset, as one run of `export` or of `delta`. `source` is a connection to the mirror for
 * reading only.
 */
export function runExportJob(
  around: JobSurroundings & { source: Database; onProgress: OnProgress<Dataset> },
  { datasets, kind }: ExportTask,
): Promise<ExportJobResult> {
  const { db: mirror, source, settings, clock } = around;
  const job = kind === 'full' ? 'export' : 'delta';
  return runJob({ ...around, job, requestCount: () => 0 }, async (signal) => {
    refuseRestored(around.db, settings.dataDir);
    const snapshots: MirrorExport[] = [];
    for (const dataset of datasets) {
      const onProgress = around.onProgress.bind(undefined, dataset);
      snapshots.push(
        await exportMirror({ db: source, mirror, dataset, kind, settings, clock, signal, onProgress }),
      );
    }
    // Deltas go on from here now: what is older need not be told change by change.
    if (kind === 'full') compactChanges(mirror, feedBegin({ settings, clock }));
    const counts = Object.fromEntries(snapshots.map(({ dataset, rows }) => [dataset, rows]));
    const isProved = snapshots.every(({ verdict }) => verdict === 'complete');
    return { outcome: isProved ? 'done' : 'incomplete', counts, snapshots };
  });
}
