import { AppError } from '../../core/errors.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import type { Database } from '../../mirror/database.ts';
import { readEpoch } from '../../mirror/fence.ts';
import { listRequests } from '../../mirror/erasure-requests.ts';
import { differenceError, compareWithLedger } from '../bound/compare.ts';
import { lostRequests } from '../bound/differences.ts';
import { refuseOtherLedger } from '../../job/other-ledger.ts';
import { runJob, type JobResult } from '../../job/run-job.ts';
import { claimMirror } from '../../mirror/runs.ts';
import { catchUp } from '../projection.ts';
import { record, type StepContext } from '../request/together.ts';

/**
 * Refuses to go on with a mirror that knows of fewer erasures than the ledger: it is an older copy, and may hold persons who
 * were erased since. Throws `storage` then, and also for a ledger that knows of fewer erasures than the mirror.
 */
export function refuseRestored(db: Database, ledger: LedgerReader): void {
  const mirrored = readEpoch(db);
  const recorded = ledger.epoch();
  if (mirrored < recorded)
    throw new AppError(
      `mirror.db is an older copy: it knows of ${mirrored} rounds of erasures, the ledger of ${recorded}`,
      {
        code: 'storage',
        hint: 'run `analytics-mirror reconcile` first: it erases again the persons that the copy has brought back',
      },
    );
  refuseOtherLedger(db, ledger);
}

/**
 * Refuses to go on where mirror or published files are older copies, or are otherwise not as the ledger says: they may hold
 * erased persons, or would let them in. What a kill has left of the last step is taken up before. Throws `storage`, and records
 * what was found.
 */
export async function refuseUnbound(context: JobContext): Promise<void> {
  refuseRestored(context.db, context.ledger());
  bringUp(context);
  const differences = await compareWithLedger(context);
  if (differences.length > 0) throw differenceError(differences);
}

/** As `refuseUnbound`, and makes the mirror the project's before. Throws `usage` where it is another project's. */
export async function refuseForeign(context: JobContext): Promise<void> {
  const { db, settings, project } = context;
  if (project) claimMirror(db, project, settings.service.movedFrom);
  await refuseUnbound(context);
}

/**
 * Brings the mirror's tables up to the ledger (`catchUp`), and writes the ledger's entries for a fence that stands: a kill can come
 * between its transaction and the entries. Throws `storage` for a ledger that is older than the mirror.
 */
export function bringUp(context: Pick<JobContext, 'db' | 'clock' | 'ledger'>): void {
  const { db } = context;
  const ledger = context.ledger();
  catchUp(db, ledger);
  const epoch = readEpoch(db);
  const standing = listRequests(db, 'open').filter(
    ({ id, epoch: own }) =>
      own === epoch &&
      ledger.bound.begunFences.get(id) !== undefined &&
      (ledger.histories.of(id)?.fence?.epoch ?? 0) < epoch,
  );
  record(
    context,
    ...standing.map(({ id, generation }) => ({ type: 'fenced', request: id, generation, epoch }) as const),
  );
}

/**
 * Ends the requests whose identifiers are lost. Only the mirror knew the subjects, so these cannot go on. Returns the ids of those that
 * have to be added again, and how many were deletions at the service: the sync finds those again whose rows the mirror has.
 */
export function endLostRequests(context: StepContext): { lost: string[]; lostDeletions: number } {
  const lost = lostRequests(context.db, context.ledger());
  record(context, ...lost.map(({ request, generation }) => ({ type: 'cancelled', request, generation }) as const));
  const asked = lost.flatMap(({ request, origin }) => (origin === 'upstream' ? [] : [request]));
  return { lost: asked, lostDeletions: lost.length - asked.length };
}

/** Changes erasure requests, as one run of `erase`: meanwhile no other process writes mirror or ledger. */
export function runEraseJob<T extends JobResult>(
  context: JobContext,
  work: (context: JobContext) => Promise<T>,
): Promise<T> {
  return runJob(context, 'erase', async (own) => {
    await refuseForeign(own);
    return work(own);
  });
}
