import type { Command } from 'commander';
import { secondText } from '../../core/words.ts';
import { runDrillJob } from '../../rehearsal/drill-job.ts';
import type { Drill } from '../../rehearsal/drill.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { formatTable } from '../table.ts';

/** Defines `erase drill`: shows on an invented person that erasing works. */
export function define(_command: Command, context: CommandContext): CommandAction {
  return {
    help: `
Runs every stage, from the sync to the certificate, in a folder of its own that is removed afterwards. Your mirror and your
service are not touched. The result is written to reports/drills/ and to the ledger, so that an audit sees that erasing
works, even in a month without requests.
Exit codes: 0 passed, 1 failed.

Examples:
  analytics-mirror erase drill`,
    run: async (app) => {
      const { drill, file } = await runDrillJob(app.jobContext(context.signal));
      const ended = drill.outcome === 'passed' ? 'done' : 'failed';
      return { ended, json: { ...drill, file }, text: `${drillText(drill)}filed as ${file}\n` };
    },
  };
}

function drillText({ steps, outcome, finishedAt }: Drill): string {
  return formatTable(
    [`drill ${outcome}, ${secondText(finishedAt)}`, ''],
    steps.map(({ step, passed }) => [step, passed ? 'yes' : 'NO']),
  );
}
