import { once } from 'node:events';
import type { Command } from 'commander';
import { createProjectApps, type ProjectApps } from '../../app.ts';
import { postWebhook } from '../../client/webhook.ts';
import { AppError } from '../../core/errors.ts';
import { alertPost } from '../../worker/alert-post.ts';
import { startWorker, type Worker } from '../../worker/worker.ts';
import { printResult } from '../command.ts';
import type { CommandContext } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { settingsFlags, type GlobalOptions } from '../global-options.ts';
import { formatTable } from '../table.ts';

/** Adds `run`: the worker. */
export function addRunCommand(program: Command, context: CommandContext): void {
  program
    .command('run')
    .description('do everything by schedule, for every project, until it is stopped')
    .addHelpText(
      'after',
      `
What is done when stands in the settings schedule.* (cron, UTC). What was missed is made up for once. A job that fails is
tried again after growing pauses. The first SIGTERM or SIGINT lets what is under way end at its next safe point, within
run.drainSeconds; the second ends at once. Nothing is lost either way.
Exit codes: 0 stopped, 1 stopped before everything had ended, 130 stopped at once.

Examples:
  analytics-mirror run
  analytics-mirror run --set schedule.export=null --set 'schedule.head="*/5 * * * *"'`,
    )
    .action(async (_options: unknown, command: Command) => {
      const parts = createProjectApps(context, settingsFlags(command.optsWithGlobals<GlobalOptions>()));
      try {
        await work(parts, command, context);
      } finally {
        for (const app of parts.apps.toReversed()) await app.close();
      }
    });
}

async function work(parts: ProjectApps, command: Command, context: CommandContext): Promise<void> {
  const { apps, log, clock, secrets } = parts;
  const { run } = apps[0].settings;
  // The jobs bring DuckDB with them, which would slow every other command's start.
  const { workerProject } = await import('../worker-project.ts');
  const projects = apps.map(workerProject);
  if (projects.every(({ schedule }) => Object.values(schedule).every((cron) => cron === null)))
    throw new AppError('nothing is scheduled', { code: 'usage', hint: 'set schedule.head and the others' });
  const posting = new AbortController();
  const { alertWebhook: url } = secrets;
  const post =
    url === null
      ? null
      : alertPost(
          (body) => postWebhook(url, body, { clock, random: Math.random, signal: posting.signal }),
          log,
        );
  const worker = startWorker({
    projects,
    clock,
    log,
    projectsAtOnce: run.projectsAtOnce,
    onAlert: (change) => post?.add(change),
  });
  printResult(context, command, startText(worker));
  const stopping = new AbortController();
  try {
    if (!context.signal.aborted)
      await Promise.race([once(context.signal, 'abort', { signal: stopping.signal }), worker.ended]);
  } finally {
    stopping.abort();
    log.info({ drainSeconds: run.drainSeconds }, 'stopping');
    const isDrained = await worker.stop(run.drainSeconds * 1000);
    posting.abort(new AppError('interrupted', { code: 'interrupted' }));
    if (!isDrained) {
      log.error('a job has not ended in time; the next start goes on where it was');
      context.exit(exitCodes.failed);
    }
  }
}

function startText(worker: Worker): { json: object; text: string } {
  const jobs = worker
    .state()
    .projects.flatMap(({ name, jobs }) =>
      jobs.map(({ job, cron, nextAt, lastAt }) => ({ project: name, job, cron, nextAt, lastAt })),
    );
  return {
    json: { schedule: jobs },
    text: formatTable(
      [{ heading: 'project' }, { heading: 'job' }, { heading: 'schedule (UTC)' }, { heading: 'next' }],
      jobs.map(({ project, job, cron, nextAt }) => [project, job, cron, nextAt]),
    ),
  };
}
