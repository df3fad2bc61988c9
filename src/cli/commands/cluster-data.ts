import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { App } from '../../app/app.ts';
import { keepBuckets } from '../../bucket/keep.ts';
import { exportProject } from '../../cluster/move-project.ts';
import { usageError } from '../../core/errors.ts';
import { runJob } from '../../job/run-job.ts';
import type { CommandAction, CommandContext } from '../command.ts';

/** Defines `cluster import` or `cluster export`: a data folder becomes a project of the cluster, or the other way round. */
export function define(command: Command, context: CommandContext): CommandAction {
  return command.name() === 'import' ? defineImport(command, context) : defineExport(command, context);
}

/** Moves a data folder into the bucket of the cluster. */
function defineImport(command: Command, context: CommandContext): CommandAction {
  command.requiredOption('--from <folder>', 'the data folder of the project, in which nothing runs');
  return {
    help: `
The bucket gets all of the folder: mirror, ledger, keys, reports and published files. It must not have a state of the project yet.
The folder stays as it is: delete it when the project is in the cluster, since no erasure reaches it any more.

Examples:
  analytics-mirror --project shop cluster import --from /srv/mirror/shop`,
    run: async (app, { from }: { from: string }) => {
      requireStorage(app);
      await app.take('cluster import', 'to write', { signal: context.signal, importFrom: resolve(from) });
      const { bucket, entries } = await runJob(app.jobContext(context.signal), 'import', async (own) => {
        const report = await keepBuckets(own);
        if (report?.error) throw report.error;
        return { outcome: 'done', counts: {}, bucket: report?.followed ?? null, entries: own.ledger().size() };
      });
      const files = bucket?.files ?? 0;
      return {
        json: { imported: app.name, entries, files },
        text: `${app.name} is in the cluster, with ${entries} entries of its ledger and ${files} published files; now delete ${resolve(from)}\n`,
      };
    },
  };
}

/** Makes a data folder of a project of the cluster. */
function defineExport(command: Command, context: CommandContext): CommandAction {
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

/** Throws `usage` where the settings name no storage of a cluster. */
function requireStorage({ settings }: Pick<App, 'settings'>): void {
  if (settings.cluster.storage !== null) return;
  throw usageError('no storage of a cluster is configured', 'set cluster.storage (docs/cluster.md)');
}
