import { exportMirror, type MirrorExport } from '../export/export-mirror.ts';
import type { Database } from '../mirror/database.ts';
import type { Dataset } from '../snapshot/columns.ts';
import type { JobSurroundings } from './job-parts.ts';
import { runJob, type JobResult } from './run-job.ts';

/** What was published. Incomplete when a snapshot is not vouched for by a complete pass. */
export type ExportJobResult = JobResult & { snapshots: MirrorExport[] };

/** Publishes one snapshot of each dataset, as one run. `reader` opens a connection of its own to the mirror. */
export function runExportJob(
  around: JobSurroundings & { reader: () => Database },
  datasets: readonly Dataset[],
): Promise<ExportJobResult> {
  const { db, settings, clock, log, reader, onProgress } = around;
  return runJob(
    { job: 'export', db, clock, log, signal: around.signal, requestCount: () => 0 },
    async (signal) => {
      const source = reader();
      const snapshots: MirrorExport[] = [];
      for (const dataset of datasets) {
        const onRows = (done: number, total: number): void => onProgress(`export ${dataset}`, done, total);
        snapshots.push(
          await exportMirror({ db: source, dataset, settings, clock, signal, onProgress: onRows }),
        );
      }
      const counts = Object.fromEntries(snapshots.map(({ dataset, rows }) => [dataset, rows]));
      const isProved = snapshots.every(({ verdict }) => verdict === 'complete');
      return { outcome: isProved ? 'done' : 'incomplete', counts, snapshots };
    },
  );
}
