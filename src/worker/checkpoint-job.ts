import { verifySnapshots } from '../snapshot/verify.ts';
import { filesDamaged } from './alerts.ts';
import type { ErasureJobSurroundings } from './job-parts.ts';
import { runJob, type JobResult } from './run-job.ts';

/**
 * Looks after what can be proved, as one run of `checkpoint`: signs the ledger as it is, then reads every published file
 * back. Incomplete, for `filesDamaged`, where one of them is not as its manifest says.
 */
export function runCheckpointJob(
  around: Omit<ErasureJobSurroundings, 'service' | 'project'>,
): Promise<JobResult> {
  const { settings, openLedger } = around;
  return runJob({ ...around, job: 'checkpoint', requestCount: () => 0 }, async (signal) => {
    const { size: entries } = openLedger().checkpoint();
    const { files, problems } = await verifySnapshots(settings.dataDir, signal);
    const counts = { entries, files, problems: problems.length };
    if (problems.length > 0) return { outcome: 'incomplete', reason: filesDamaged, counts };
    return { outcome: 'done', counts };
  });
}
