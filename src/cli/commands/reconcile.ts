import type { Command } from 'commander';
import type { App } from '../../app.ts';
import { listHeldPlans } from '../../mirror/suspects.ts';
import { absenceDatasets, planDatasetAbsence } from '../../sync/absence.ts';
import { runReconcileJob } from '../../worker/reconcile-job.ts';
import { absenceText, heldText } from '../absence-text.ts';
import { runCommand, type CommandResult } from '../command.ts';
import type { CommandContext } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { formatCount } from '../format.ts';
import { serviceJob } from '../service-job.ts';
import { formatTable } from '../table.ts';

type ReconcileFlags = { dryRun?: boolean; approve?: string };

/** Adds `reconcile`: takes every pending deletion as far as it can go now. */
export function addReconcileCommand(program: Command, context: CommandContext): void {
  program
    .command('reconcile')
    .description('ask for rows that the service no longer lists, and let go of those that it has no longer')
    .option('--dry-run', 'show what would be done, and do nothing')
    .option('--approve <plan>', 'let a held plan go on: its rows, and no others')
    .addHelpText(
      'after',
      `
A row leaves the mirror only when the service has answered 404 for it often enough (deletions.confirmations), far enough
apart (deletions.confirmAfterSeconds). Exit codes: 0 done, 4 a plan waits for approval.

Examples:
  analytics-mirror reconcile --dry-run
  analytics-mirror reconcile --approve 3f2a9c0d1b4e5f60`,
    )
    .action((_options: unknown, command: Command) =>
      runCommand(context, command, async (app) => {
        const { dryRun, approve } = command.opts<ReconcileFlags>();
        if (dryRun) return describePlan(app);
        const { outcome, absence } = await runReconcileJob(serviceJob(app, context), approve);
        if (outcome === 'held') context.setExitCode(exitCodes.incomplete);
        return { json: { outcome, absence }, text: absenceText(absence) || 'nothing is pending\n' };
      }),
    );
}

function describePlan(app: App): CommandResult {
  const db = app.databaseReadOnly();
  const plans = absenceDatasets.map((dataset) => {
    const { ask, wait, hold } = planDatasetAbsence({ db, settings: app.settings, clock: app.clock }, dataset);
    return {
      dataset,
      ask: ask.length,
      wait: wait.length,
      hold: hold ? { plan: hold.plan, rows: hold.rows.length } : null,
    };
  });
  const table = formatTable(
    [
      { heading: 'dataset' },
      { heading: 'to be asked for', align: 'right' },
      { heading: 'too early', align: 'right' },
      { heading: 'held', align: 'right' },
      { heading: 'plan' },
    ],
    plans.map(({ dataset, ask, wait, hold }) => [
      dataset,
      formatCount(ask),
      formatCount(wait),
      formatCount(hold?.rows ?? 0),
      hold?.plan ?? '',
    ]),
  );
  const held = listHeldPlans(db);
  return { json: { plans, held }, text: table + held.map(heldText).join('') };
}
