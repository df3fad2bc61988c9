import { refuseRestored } from '../erasure/restore-guard.ts';
import { exportMirror, type MirrorExport } from '../export/export-mirror.ts';
import type { Database } from '../mirror/database.ts';
import type { Dataset } from '../snapshot/columns.ts';
import type { JobSurroundings, OnProgress } from './job-parts.ts';
import { runJob, type JobResult } from './run-job.ts';

/** What was published. Incomplete when a snapshot is not vouched for by a complete pass. */
export type ExportJobResult = JobResult & { snapshots: MirrorExport[] };

/** Publishes one snapshot of each dataset, as one run. `source` is a connection to the mirror for reading only. */
export function runExportJob(
  around: JobSurroundings & { source: Database; onProgress: OnProgress<Dataset> },
  datasets: readonly Dataset[],
): Promise<ExportJobResult> {
  const { db: mirror, source, settings, clock } = around;
  return runJob({ ...around, job: 'export', requestCount: () => 0 }, async (signal) => {
    refuseRestored(around.db, settings.dataDir);
    const snapshots: MirrorExport[] = [];
    for (const dataset of datasets) {
      const onProgress = around.onProgress.bind(undefined, dataset);
      snapshots.push(
        await exportMirror({ db: source, mirror, dataset, settings, clock, signal, onProgress }),
      );
    }
    const counts = Object.fromEntries(snapshots.map(({ dataset, rows }) => [dataset, rows]));
    const isProved = snapshots.every(({ verdict }) => verdict === 'complete');
    return { outcome: isProved ? 'done' : 'incomplete', counts, snapshots };
  });
}
