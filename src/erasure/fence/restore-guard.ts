import { AppError } from '../../core/errors.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import type { Database } from '../../mirror/database.ts';
import { readEpoch } from '../../mirror/fence.ts';
import { findRequest, listRequests, updateRequest, withoutWords } from '../../mirror/erasure-requests.ts';
import { differenceError, compareWithLedger } from '../bound/compare.ts';
import { runJob, type JobResult } from '../../job/run-job.ts';
import { claimMirror } from '../../mirror/runs.ts';

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
  refuseOlderLedger(mirrored, ledger);
}

/**
 * Refuses to go on where mirror or published files are older copies, or are otherwise not as the ledger says: they may hold
 * erased persons, or would let them in. Throws `storage`, and records what was found.
 */
export async function refuseUnbound(context: JobContext): Promise<void> {
  refuseRestored(context.db, context.ledger());
  const differences = await compareWithLedger(context);
  if (differences.length > 0) throw differenceError(differences);
}

/** Throws `storage` for a ledger that knows of fewer erasures than the mirror. */
export function refuseOlderLedger(mirrored: number, ledger: LedgerReader): void {
  const recorded = ledger.epoch();
  // A kill can come between the transaction that fences and the entry which says that the fence stands.
  if (mirrored <= recorded || (mirrored === recorded + 1 && mirrored === ledger.begunEpoch())) return;
  throw new AppError(
    `the ledger is older than mirror.db: it knows of ${recorded} rounds of erasures, the mirror of ${mirrored}`,
    { code: 'storage', hint: 'restore ledger/ from the same backup as mirror.db, or from a newer one' },
  );
}

/** Ends the requests that the ledger knows to be refused or cancelled, and the mirror does not: neither is taken back. */
export function endRequests({ db, ledger }: Pick<JobContext, 'db' | 'ledger'>): void {
  const { histories } = ledger();
  db.transaction(() => {
    for (const request of listRequests(db, 'open')) {
      const { id } = request;
      const { state = null, endedAt = null, reason = null } = histories.of(id) ?? {};
      if (state !== 'refused' && state !== 'cancelled') continue;
      const end = state === 'refused' ? { refusedAt: endedAt, reason } : { cancelledAt: endedAt, reason: null };
      updateRequest(db, id, { ...end, ...withoutWords(request) });
    }
  }).immediate();
}

/**
 * Ends the requests that the ledger has received and the mirror does not know: an older mirror was put back, or a kill came
 * between the two. Only the mirror knew the subjects, so these requests cannot go on. Returns the ids of those that have to
 * be added again; the sync finds a deletion at the service again by itself. Fenced requests are not among them: the ledger
 * has their fence.
 */
export function endLostRequests({ db, ledger }: Pick<JobContext, 'db' | 'ledger'>): string[] {
  const lost = [...ledger().histories.all()].filter(
    ({ request, state, fence }) =>
      fence === null &&
      (state === 'received' || state === 'scoped' || state === 'held') &&
      findRequest(db, request) === undefined,
  );
  ledger().append(lost.map(({ request, generation }) => ({ type: 'cancelled', request, generation })));
  return lost.flatMap(({ request, origin }) => (origin === 'upstream' ? [] : [request]));
}

/** Changes erasure requests, as one run of `erase`: meanwhile no other process writes mirror or ledger. */
export function runEraseJob<T extends JobResult>(
  context: JobContext,
  work: (context: JobContext) => Promise<T>,
): Promise<T> {
  return runJob(context, 'erase', async (own) => {
    const { db, settings, project } = own;
    if (project) claimMirror(db, project, settings.service.movedFrom);
    await refuseUnbound(own);
    endRequests(own);
    return work(own);
  });
}
