import { Argument, Option, type Command } from 'commander';
import type { App } from '../../app.ts';
import { AppError } from '../../core/errors.ts';
import { datasets, mirroredDatasets, pagedDatasets, type MirroredDataset } from '../../contract/datasets.ts';
import type { OnProgress } from '../../job/job-context.ts';
import { passModes, type PassMode } from '../../mirror/passes.ts';
import { runSyncJob, type SyncJob, type SyncJobResult } from '../../worker/sync-job.ts';
import { runCommand, type CommandContext } from '../command.ts';
import { exitCodes } from '../errors.ts';
import { absenceText, passTable } from '../sync-text.ts';
import { reportProgress } from '../progress.ts';

type SyncFlags = { mode: PassMode; resume?: boolean; fresh?: boolean };

/** Defines `sync`: one pass over each list. */
export function define(command: Command, context: CommandContext): void {
  command
    .addArgument(
      new Argument(
        '[datasets...]',
        'which lists; persons, recordings and the configured playlists when none is named',
      ).choices(mirroredDatasets),
    )
    .addOption(
      new Option('--mode <mode>', 'full walks to the end, head stops at known unchanged rows')
        .choices(passModes)
        .default('full'),
    )
    .addOption(
      new Option('--resume', 'take up an unfinished pass (what happens by default)').conflicts('fresh'),
    )
    .option('--fresh', 'begin anew, whatever is unfinished')
    .addHelpText(
      'after',
      `
A pass ends complete (every row that was there throughout has been seen) or incomplete, and says why.
Exit codes: 0 complete, 4 incomplete.

Examples:
  analytics-mirror sync
  analytics-mirror sync persons --mode head
  analytics-mirror sync recordings --fresh --json`,
    )
    .action((named: MirroredDataset[]) => {
      const { mode, fresh } = command.opts<SyncFlags>();
      return runCommand(context, command, async (app) => {
        if (named.includes('playlists') && app.settings.playlists.shortIds.length === 0)
          throw new AppError('no playlist is configured', {
            code: 'usage',
            hint: "name them by short id: --set 'playlists.shortIds=[…]'; the service has no list of them",
          });
        const result = await syncNow(app, context, {
          datasets: named.length > 0 ? named : defaultDatasets(app),
          mode,
          resume: fresh !== true,
        });
        if (result.outcome !== 'done') context.setExitCode(exitCodes.incomplete);
        const { outcome, passes, membershipsTold, absence } = result;
        return {
          json: { outcome, passes, membershipsTold, absence },
          text: passTable(passes) + (absence ? absenceText(absence) : ''),
        };
      });
    });
}

/** Syncs with progress bars. */
export function syncNow(app: App, context: CommandContext, job: SyncJob): Promise<SyncJobResult> {
  const work = (onProgress: OnProgress<MirroredDataset>): Promise<SyncJobResult> =>
    runSyncJob(app.serviceContext(context.signal), { ...job, onProgress });
  return reportProgress(context, 'sync', work, (dataset) => app.budget.left(datasets[dataset].lane));
}

function defaultDatasets({ settings }: App): readonly MirroredDataset[] {
  return settings.playlists.shortIds.length > 0 ? mirroredDatasets : pagedDatasets;
}
