import { endRequests, refuseRestored } from '../erasure/fence/restore-guard.ts';
import type { JobContext } from '../job/job-context.ts';
import { runJob, type JobResult } from '../job/run-job.ts';
import { claimMirror } from '../mirror/mirrored-project.ts';

/** Changes erasure requests, as one run of `erase`: meanwhile no other process writes mirror or ledger. */
export function runEraseJob<T extends JobResult>(
  context: JobContext,
  work: (context: JobContext) => Promise<T>,
): Promise<T> {
  return runJob(context, 'erase', (own) => {
    const { db, settings, project } = own;
    if (project) claimMirror(db, project, settings.service.movedFrom);
    refuseRestored(db, settings.dataDir, own.ledger());
    endRequests(own);
    return work(own);
  });
}
