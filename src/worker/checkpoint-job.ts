import type { JobContext } from '../job/job-context.ts';
import { runJob, type JobResult } from '../job/run-job.ts';
import { verifySnapshots } from '../snapshot/verify.ts';
import { filesDamaged } from './alerts.ts';

/**
 * Looks after what can be proved, as one run of `checkpoint`: signs the ledger as it is, then reads every published file
 * back. Incomplete, for `filesDamaged`, where one of them is not as its manifest says.
 */
export function runCheckpointJob(context: JobContext): Promise<JobResult> {
  return runJob(context, 'checkpoint', async ({ published, signal, ledger }) => {
    const { size: entries } = ledger().checkpoint();
    const { files, problems } = await verifySnapshots(published, signal);
    const counts = { entries, files, problems: problems.length };
    if (problems.length > 0) return { outcome: 'incomplete', reason: filesDamaged, counts };
    return { outcome: 'done', counts };
  });
}
