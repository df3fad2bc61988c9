import type { ScheduledJob } from '../config/settings.ts';
import { assertNever } from '../core/errors.ts';
import { openDatabaseReadOnly } from '../mirror/database.ts';
import type { PassDataset, PassMode } from '../mirror/passes.ts';
import { datasetNames } from '../snapshot/columns.ts';
import { runCheckpointJob } from './checkpoint-job.ts';
import { runDrillJob, type HoldDrill } from './drill-job.ts';
import { runExportJob } from './export-job.ts';
import type { ServiceJobSurroundings } from './job-parts.ts';
import { runReconcileJob } from './reconcile-job.ts';
import type { JobResult } from './run-job.ts';
import { runSyncJob } from './sync-job.ts';

/** Runs a scheduled job as one recorded run; `holdDrill` holds an exercise. Rejects as `runJob` does. */
export async function runScheduledJob(
  job: ScheduledJob,
  around: ServiceJobSurroundings,
  holdDrill: HoldDrill,
): Promise<void> {
  await startJob(job, around, holdDrill);
}

function startJob(
  job: ScheduledJob,
  around: ServiceJobSurroundings,
  holdDrill: HoldDrill,
): Promise<JobResult> {
  switch (job) {
    case 'reconcile':
      return runReconcileJob(around, undefined);
    case 'full':
      return sync(around, job, ['persons'], 'full');
    case 'recordings':
    case 'playlists':
      return sync(around, job, [job], 'full');
    case 'head':
      return sync(around, job, ['persons', 'recordings'], 'head');
    case 'export':
      return exportAll(around, 'full');
    case 'delta':
      return exportAll(around, 'delta');
    case 'checkpoint':
      return runCheckpointJob(around);
    case 'drill':
      return runDrillJob(around, holdDrill);
    default:
      return assertNever(job);
  }
}

function sync(
  around: ServiceJobSurroundings,
  name: ScheduledJob,
  datasets: readonly PassDataset[],
  mode: PassMode,
): Promise<JobResult> {
  return runSyncJob({ ...around, onProgress: () => undefined }, { name, datasets, mode, resume: true });
}

async function exportAll(around: ServiceJobSurroundings, kind: 'full' | 'delta'): Promise<JobResult> {
  const source = openDatabaseReadOnly(around.settings.dataDir);
  try {
    return await runExportJob(
      { ...around, source, onProgress: () => undefined },
      { kind, datasets: datasetNames },
    );
  } finally {
    source.close();
  }
}
