import { scheduleOf, type ScheduledJob, type Settings } from '../config/settings.ts';
import { datasets, mirroredDatasets, pagedDatasets } from '../contract/datasets.ts';
import type { Clock } from '../core/clock.ts';
import { assertNever } from '../core/errors.ts';
import type { JobContext, ServiceContext } from '../job/job-context.ts';
import { runJob, type JobResult } from '../job/run-job.ts';
import { isGuest } from '../job/turn-plan.ts';
import { openDatabaseReadOnly, refuseReplaced, type Database } from '../mirror/database.ts';
import { listRequests } from '../mirror/erasure-requests.ts';
import { readOpenAlerts, replaceOpenAlerts } from '../mirror/open-alerts.ts';
import { lastCompletePasses } from '../mirror/passes.ts';
import { refuseOthersMirror } from '../mirror/runs.ts';
import { verifySnapshots } from '../snapshot/verify.ts';
import { filesDamaged } from './alerts.ts';
import { runAnchorJob } from './anchor-job.ts';
import { compareWithLedger, stateDiffers } from '../erasure/bound/compare.ts';
import { runExportJob } from './export-job.ts';
import { configuredWarehouse, runLoadJob } from './load-job.ts';
import type { WorkerProject } from './project-runner.ts';
import { runReconcileJob } from './reconcile-job.ts';
import { readJobHistory, readProjectCondition } from './read-project.ts';
import { runSyncJob } from './sync-job.ts';

/** The functions of the program that a project of the worker needs. */
export type ProjectParts = {
  name: string;
  settings: Settings;
  /** Where its key comes from, in words for a message. */
  keyFrom: string;
  clock: Clock;
  /** The mirror, for writing. */
  database: () => Database;
  /** What a job of the project works with. Throws `usage` where its service is not configured. */
  serviceContext: (signal: AbortSignal) => ServiceContext;
};

/** Runs a drill as one recorded run: an erasure of an invented person. */
export type RunDrill = (context: JobContext) => Promise<JobResult>;

/** A project of the worker. The worker knows no drill of its own, so it is given one. */
export function workerProject(
  { name, settings, keyFrom, clock, database, serviceContext }: ProjectParts,
  runDrill: RunDrill,
): WorkerProject {
  return {
    name,
    service: { baseUrl: settings.service.baseUrl, projectId: settings.service.projectId, keyFrom },
    dataDir: settings.dataDir,
    schedule: scheduleOf(settings),
    run: (job, signal) => runScheduledJob(job, serviceContext(signal), runDrill),
    givesWay: (running, to) => givingJobs.has(running) && isGuest(to) && isOfUseBesidePass(database(), to),
    readHistory: (job) => readJobHistory(database(), job, clock.now()),
    readCondition: () => {
      refuseReplaced(database());
      refuseOthersMirror(database(), settings);
      return readProjectCondition(database(), { name, ...settings }, clock.now());
    },
    readAlerts: () => readOpenAlerts(database()),
    keepAlerts: (alerts) => replaceOpenAlerts(database(), alerts),
  };
}

function runScheduledJob(job: ScheduledJob, context: ServiceContext, runDrill: RunDrill): Promise<JobResult> {
  switch (job) {
    case 'reconcile':
      return runReconcileJob(context, undefined);
    case 'full':
    case 'recordings':
    case 'playlists': {
      const lists = mirroredDatasets.filter((dataset) => datasets[dataset].fullJob === job);
      return runSyncJob(context, { name: job, datasets: lists, mode: 'full', resume: true });
    }
    case 'head':
      return runSyncJob(context, { name: job, datasets: pagedDatasets, mode: 'head', resume: true });
    case 'export':
      return exportAll(context, 'full');
    case 'delta':
      return exportAll(context, 'delta');
    case 'load':
      return runLoadJob(context, configuredWarehouse(context.settings), context.settings.export.load.consumer);
    case 'checkpoint':
      return runCheckpointJob(context);
    case 'anchor':
      return runAnchorJob(context);
    case 'drill':
      return runDrill(context);
    default:
      return assertNever(job);
  }
}

const givingJobs: ReadonlySet<ScheduledJob> = new Set(['full', 'recordings', 'head', 'reconcile']);

/**
 * Whether a job has something to do in the middle of a pass. Before each list was seen as a whole there is nothing to publish and
 * nothing to confirm, and a first pass is fast while nobody else reads the mirror.
 */
function isOfUseBesidePass(db: Database, job: ScheduledJob): boolean {
  const seenWhole = lastCompletePasses(db).map(({ dataset }) => dataset);
  if (pagedDatasets.every((dataset) => seenWhole.includes(dataset))) return true;
  return job === 'reconcile' && listRequests(db, 'open').length > 0;
}

async function exportAll(context: JobContext, kind: 'full' | 'delta'): Promise<JobResult> {
  using source = openDatabaseReadOnly(context.settings.dataDir);
  return await runExportJob(context, { kind, datasets: null, source });
}

/**
 * Holds the folder against the ledger, signs the ledger, then reads every published file back, as one run of `checkpoint`.
 * Incomplete for `stateDiffers` where something is not as the ledger says, or for `filesDamaged` where a file differs from its
 * manifest.
 */
export function runCheckpointJob(context: JobContext): Promise<JobResult> {
  return runJob(context, 'checkpoint', async (own) => {
    const differences = await compareWithLedger(own);
    const { files, problems } = await verifySnapshots(own.published, own.signal);
    const counts = { entries: own.ledger().size(), files, problems: differences.length + problems.length };
    if (differences.length > 0) return { outcome: 'incomplete', reason: stateDiffers, counts };
    if (problems.length > 0) return { outcome: 'incomplete', reason: filesDamaged, counts };
    return { outcome: 'done', counts };
  });
}
