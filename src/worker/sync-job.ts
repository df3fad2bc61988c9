import { deletionReceiver } from '../erasure/receive.ts';
import { datasets, type MirroredDataset } from '../contract/datasets.ts';
import { refuseForeign } from '../erasure/fence/restore-guard.ts';
import { usageError } from '../core/errors.ts';
import type { InTurns, OnProgress, ServiceContext } from '../job/job-context.ts';
import { aboveDiskFloor } from '../job/disk-floor.ts';
import { inTurns } from '../job/in-turns.ts';
import { runJob, type JobResult } from '../job/run-job.ts';
import type { PassMode } from '../mirror/passes.ts';
import { reportPass, type PassReport } from '../sync/pass-report.ts';
import { newTally, reconcileAbsence, type AbsenceResult } from '../sync/absence.ts';
import { syncList } from '../sync/sync-list.ts';
import { beginPlaylistPass, syncPlaylists } from '../sync/sync-playlists.ts';

/** Which lists to sync and how, and under which name the run is recorded. */
export type SyncJob = {
  datasets: readonly MirroredDataset[];
  mode: PassMode;
  resume: boolean;
  /** Default `sync`. */
  name?: string;
  onProgress?: OnProgress<MirroredDataset>;
};

/** The passes that were made. A head pass never proves completeness, so it is done, not incomplete. */
export type SyncJobResult = JobResult & {
  passes: PassReport[];
  /** How many playlists the service gave the recordings of; null when no playlist was asked for. */
  membershipsTold: number | null;
  /** The results for rows that the service no longer lists; null when no pass could judge them. */
  absence: AbsenceResult | null;
};

/**
 * Makes one pass over each list, as one run. Throws `usage` where playlists are asked for and none is configured. Then advances the rows that complete passes did not see. Between two pages a pass
 * gives way to others: it goes on from its cursor, as a pass that was stopped.
 */
export async function runSyncJob(context: ServiceContext, job: SyncJob): Promise<SyncJobResult> {
  if (job.datasets.includes('playlists') && context.settings.playlists.shortIds.length === 0)
    throw usageError(
      'no playlist is configured',
      "name them by short id: --set 'playlists.shortIds=[…]'; the service has no list of them",
    );
  return runJob(
    context,
    job.name ?? 'sync',
    aboveDiskFloor(async (own) => {
      const { settings } = own;
      const turns: InTurns = (work) => inTurns(own, () => refuseForeign(own), work);
      await refuseForeign(own);
      const passes: PassReport[] = [];
      let membershipsTold: number | null = null;
      for (const dataset of job.datasets) {
        if (dataset === 'playlists') {
          const begun = beginPlaylistPass(own, settings.playlists.shortIds);
          const result = await turns((part) => syncPlaylists({ ...own, ...part }, begun));
          passes.push(reportPass(result.pass));
          membershipsTold = result.membershipsTold;
        } else {
          const { mode, resume } = job;
          const pass = await turns(({ onStep, ...part }) => {
            const onProgress = (done: number, total: number | null): void => {
              job.onProgress?.(dataset, done, total);
              onStep();
            };
            return syncList({ ...own, ...part, dataset, mode, resume, onProgress });
          });
          passes.push(reportPass(pass));
        }
      }
      const canJudge = passes.some(({ verdict, dataset }) => verdict === 'complete' && datasets[dataset].list !== null);
      const tally = newTally();
      const onDeletion = deletionReceiver(own);
      const absence = canJudge
        ? await turns(({ signal, onStep }) => reconcileAbsence({ ...own, signal, onStep, tally, onDeletion }))
        : null;
      const isIncomplete = passes.some(({ verdict, reason }) => verdict !== 'complete' && reason !== 'head');
      // A held plan of another list says nothing about this run.
      const isHeld = absence?.held.some(({ dataset }) => job.datasets.includes(dataset)) ?? false;
      const counts = Object.fromEntries(passes.map((pass) => [pass.dataset, pass.rowsReceived]));
      const outcome = isIncomplete ? 'incomplete' : isHeld ? 'held' : 'done';
      return { outcome, counts, passes, membershipsTold, absence };
    }),
  );
}
