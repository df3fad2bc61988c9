import type { App } from '../app/app.ts';
import { runEraseJob } from '../erasure/fence/restore-guard.ts';
import { together } from '../erasure/request/together.ts';
import type { JobContext } from '../job/job-context.ts';
import type { JobResult } from '../job/run-job.ts';
import type { CommandContext, CommandResult } from './command.ts';
import { exitCodes } from './errors.ts';

/**
 * Does what a person decides about requests, as one run of `erase`. The command ends with 4 where that run has to tell of requests that a
 * killed one gave up, whatever else it did.
 */
export async function eraseJob<T extends Pick<JobResult, 'counts'>>(
  app: App,
  context: CommandContext,
  work: (job: JobContext) => Promise<T> | T,
): Promise<T> {
  const result = await runEraseJob(app.jobContext(context.signal), async (job): Promise<T & JobResult> => {
    return { outcome: 'done', ...(await work(job)) };
  });
  if (result.outcome === 'held') context.setExitCode(exitCodes.incomplete);
  return result;
}

/** Takes one step of each request, all in one run of `erase`. The command prints what was done, and the ids. */
export async function decide(
  app: App,
  context: CommandContext,
  done: string,
  idsOf: (job: JobContext) => readonly string[],
  act: (job: JobContext, id: string) => { id: string },
): Promise<CommandResult> {
  const { requests } = await eraseJob(app, context, (job) => {
    const acted = together(job, (own) => idsOf(own).map((id) => act(own, id).id));
    return { counts: { [done]: acted.length }, requests: acted };
  });
  return {
    json: { [done]: requests },
    text: requests.length === 0 ? 'nothing to do\n' : requests.map((id) => `${done} ${id}\n`).join(''),
  };
}
