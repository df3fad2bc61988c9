import type { Command } from 'commander';
import { runAnchorJob } from '../../worker/anchor-job.ts';
import type { CommandAction, CommandContext } from '../command.ts';

/** Defines `audit anchor`: has the ledger anchored outside. */
export function define(_command: Command, context: CommandContext): CommandAction {
  return {
    help: `
Signs the ledger, and asks each anchor of \`audit.anchors\` for a time stamp or a cosignature. The worker does so by the schedule
\`anchor\`. An anchor sees the checkpoint only: three lines and a signature.
Exit codes: 0 each anchor has anchored all entries, 4 one is away, or refuses.

Examples:
  analytics-mirror audit anchor`,
    run: async (app) => {
      const { anchors, outcome } = await runAnchorJob(app.jobContext(context.signal));
      return {
        ended: outcome === 'done' ? 'done' : 'incomplete',
        json: { anchors },
        text: anchors.map(({ name, result, says }) => `${result.padEnd(8)}  ${name} ${says}\n`).join(''),
      };
    },
  };
}
