import { resolve } from 'node:path';
import type { Command } from 'commander';
import { exportProject } from '../../cluster/move-project.ts';
import { runJob } from '../../job/run-job.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { requireStorage } from './cluster-import.ts';

/** Defines `cluster export`: makes a data folder of a project of the cluster. */
export function define(command: Command, context: CommandContext): CommandAction {
  command.requiredOption('--to <folder>', 'a folder that is not there yet, or is empty');
  return {
    help: `
The folder has all that the bucket has of the project, and works without the cluster. The bucket keeps its state: take the project out of
the configuration of the cluster, then delete what is there. Nothing may go on with both.

Examples:
  analytics-mirror --project shop cluster export --to /srv/mirror/shop`,
    run: async (app, { to }: { to: string }) => {
      requireStorage(app);
      const folder = resolve(to);
      const { entries } = await runJob(app.jobContext(context.signal), 'move', async (own) => {
        const ledger = own.ledger();
        ledger.checkpoint();
        await exportProject(own.db, { from: own.settings.dataDir, to: folder }, own);
        return { outcome: 'done', counts: {}, entries: ledger.size() };
      });
      return {
        json: { exported: app.name, to: folder, entries },
        text: `${app.name} is in ${folder}, with ${entries} entries of its ledger\n`,
      };
    },
  };
}
