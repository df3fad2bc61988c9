import { Argument, Option, type Command } from 'commander';
import type { App } from '../../app/app.ts';
import type { Budget } from '../../client/budget.ts';
import { isoTime } from '../../core/clock.ts';
import { datasets, mirroredDatasets, pagedDatasets, type Lane, type MirroredDataset } from '../../contract/datasets.ts';
import type { OnProgress } from '../../job/job-context.ts';
import { passModes, type PassMode } from '../../mirror/passes.ts';
import { runSyncJob, type SyncJob, type SyncJobResult } from '../../worker/sync-job.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { absenceText, passTable } from '../sync-text.ts';
import { reportProgress, type BudgetLook } from '../progress.ts';

type SyncFlags = { mode: PassMode; resume?: boolean; fresh?: boolean };

/** Defines `sync`: makes one pass over each list. */
export function define(command: Command, context: CommandContext): CommandAction {
  command
    .addArgument(
      new Argument(
        '[datasets...]',
        'the lists to sync; by default persons, recordings and the configured playlists',
      ).choices(mirroredDatasets),
    )
    .addOption(
      new Option('--mode <mode>', 'full walks to the end of the list, head stops at rows that are known and unchanged')
        .choices(passModes)
        .default('full'),
    )
    .addOption(new Option('--resume', 'continue an unfinished pass (the default)').conflicts('fresh'))
    .option('--fresh', 'start a new pass, also where one is unfinished');
  return {
    help: `
A pass ends complete (it has seen every row that existed throughout the pass) or incomplete, with the reason.
Exit codes: 0 complete, 4 incomplete.

Examples:
  analytics-mirror sync
  analytics-mirror sync persons --mode head
  analytics-mirror sync recordings --fresh --json`,
    run: async (app, named: MirroredDataset[], { mode, fresh }: SyncFlags) => {
      const hasPlaylists = app.settings.playlists.shortIds.length > 0;
      const result = await syncNow(app, context, {
        datasets: named.length > 0 ? named : hasPlaylists ? mirroredDatasets : pagedDatasets,
        mode,
        resume: fresh !== true,
      });
      const { outcome, passes, membershipsTold, absence } = result;
      return {
        ended: outcome === 'done' ? 'done' : 'incomplete',
        json: { outcome, passes, membershipsTold, absence },
        text: passTable(passes) + (absence ? absenceText(absence) : ''),
      };
    },
  };
}

/** Syncs with progress bars. */
export function syncNow(app: App, context: CommandContext, job: SyncJob): Promise<SyncJobResult> {
  const work = (onProgress: OnProgress<MirroredDataset>): Promise<SyncJobResult> =>
    runSyncJob(app.serviceContext(context.signal), { ...job, onProgress });
  return reportProgress(context, 'sync', work, (dataset) => lookAtBudget(app.budget, datasets[dataset].lane));
}

async function lookAtBudget(budget: Budget, lane: Lane): Promise<BudgetLook> {
  const { pausedUntil } = await budget.standing();
  const usedUpUntilMs = await budget.usedUpUntilMs(lane);
  const requestsLeft = await budget.left(lane);
  if (pausedUntil !== null) return { requestsLeft, waits: { until: pausedUntil, why: 'the service (429)' } };
  if (usedUpUntilMs === null) return { requestsLeft, waits: null };
  return { requestsLeft, waits: { until: isoTime(usedUpUntilMs), why: 'the budget' } };
}
