import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { claimMirror } from '../mirror/mirrored-project.ts';
import { approvePlan } from '../mirror/suspects.ts';
import { reconcileAbsence, type AbsenceResult } from '../sync/absence.ts';
import type { ServiceJobSurroundings } from './job-parts.ts';
import { runJob, type JobResult } from './run-job.ts';

/** What came of it. Held when something waits for a person. */
export type ReconcileJobResult = JobResult & { absence: AbsenceResult };

/**
 * Takes every pending deletion as far as it can go now, as one run. `approve` names a held plan that may go on; a name
 * that no plan has is a `usage` error, and then nothing is done.
 */
export function runReconcileJob(
  around: ServiceJobSurroundings,
  approve: string | undefined,
): Promise<ReconcileJobResult> {
  const { db, settings, clock, service, project } = around;
  const requestCount = (): number => service.requestCount();
  return runJob({ ...around, job: 'reconcile', requestCount }, async (signal) => {
    claimMirror(db, project, settings.service.movedFrom);
    if (approve !== undefined && !approvePlan(db, approve, isoTime(clock.now())))
      throw new AppError('there is no plan of that name', {
        code: 'usage',
        hint: '`reconcile --dry-run` shows the plans that wait for approval',
      });
    const absence = await reconcileAbsence({ ...around, signal });
    const { held, ...counts } = absence;
    return { outcome: held.length > 0 ? 'held' : 'done', counts, absence };
  });
}
