import type { App } from '../app/app.ts';
import { runEraseJob } from '../erasure/fence/restore-guard.ts';
import type { JobContext } from '../job/job-context.ts';
import type { JobResult } from '../job/run-job.ts';
import type { CommandContext } from './command.ts';
import { exitCodes } from './errors.ts';

/**
 * Does what a person decides about requests, as one run of `erase`. The command ends with 4 where that run has to tell of requests that a
 * killed one gave up, whatever else it did.
 */
export async function eraseJob<T extends JobResult>(
  app: App,
  context: CommandContext,
  work: (job: JobContext) => Promise<T>,
): Promise<T> {
  const result = await runEraseJob(app.jobContext(context.signal), work);
  if (result.outcome === 'held') context.setExitCode(exitCodes.incomplete);
  return result;
}
