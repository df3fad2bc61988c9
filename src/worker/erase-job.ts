import type { ErasureParts } from '../erasure/request/request-record.ts';
import { endRequests } from '../erasure/fence/restore.ts';
import { refuseRestored } from '../erasure/fence/restore-guard.ts';
import { claimMirror } from '../mirror/mirrored-project.ts';
import type { ErasureJobSurroundings } from './job-parts.ts';
import { runJob, type JobResult } from './run-job.ts';

/** Does something to requests, as one run: nothing else writes meanwhile, neither mirror nor ledger. */
export function runEraseJob<T extends JobResult>(
  around: ErasureJobSurroundings,
  work: (parts: ErasureParts) => Promise<T>,
): Promise<T> {
  const { db, settings, service, project } = around;
  const requestCount = (): number => service?.requestCount() ?? 0;
  return runJob({ ...around, job: 'erase', requestCount }, (signal) => {
    if (project) claimMirror(db, project, settings.service.movedFrom);
    const parts = { ...around, signal, ledger: around.openLedger() };
    refuseRestored(db, settings.dataDir, parts.ledger);
    endRequests(parts);
    return work(parts);
  });
}
