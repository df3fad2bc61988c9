import type { ScheduledJob } from '../config/settings.ts';
import { assertNever } from '../core/errors.ts';
import { type MirroredDataset, publishedDatasets } from '../contract/datasets.ts';
import type { ServiceContext } from '../job/job-context.ts';
import type { JobResult } from '../job/run-job.ts';
import { openDatabaseReadOnly } from '../mirror/database.ts';
import type { PassMode } from '../mirror/passes.ts';
import { runCheckpointJob } from './checkpoint-job.ts';
import { runDrillJob, type HoldDrill } from './drill-job.ts';
import { runExportJob } from './export-job.ts';
import { runReconcileJob } from './reconcile-job.ts';
import { runSyncJob } from './sync-job.ts';

/** Runs a scheduled job as one recorded run; `holdDrill` holds an exercise. Rejects as `runJob` does. */
export async function runScheduledJob(
  job: ScheduledJob,
  context: ServiceContext,
  holdDrill: HoldDrill,
): Promise<void> {
  await startJob(job, context, holdDrill);
}

function startJob(job: ScheduledJob, context: ServiceContext, holdDrill: HoldDrill): Promise<JobResult> {
  switch (job) {
    case 'reconcile':
      return runReconcileJob(context, undefined);
    case 'full':
      return sync(context, job, ['persons'], 'full');
    case 'recordings':
    case 'playlists':
      return sync(context, job, [job], 'full');
    case 'head':
      return sync(context, job, ['persons', 'recordings'], 'head');
    case 'export':
      return exportAll(context, 'full');
    case 'delta':
      return exportAll(context, 'delta');
    case 'checkpoint':
      return runCheckpointJob(context);
    case 'drill':
      return runDrillJob(context, holdDrill);
    default:
      return assertNever(job);
  }
}

function sync(
  context: ServiceContext,
  name: ScheduledJob,
  datasets: readonly MirroredDataset[],
  mode: PassMode,
): Promise<JobResult> {
  return runSyncJob(context, { name, datasets, mode, resume: true });
}

async function exportAll(context: ServiceContext, kind: 'full' | 'delta'): Promise<JobResult> {
  const source = openDatabaseReadOnly(context.settings.dataDir);
  try {
    return await runExportJob(context, { kind, datasets: publishedDatasets, source });
  } finally {
    source.close();
  }
}
