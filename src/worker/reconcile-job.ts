import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { endLostRequests } from '../erasure/fence/restore-guard.ts';
import { pagedDatasets } from '../contract/datasets.ts';
import { eraseHere } from '../erasure/erase-here.ts';
import { planErasure, type ErasurePlan } from '../erasure/plan.ts';
import {
  askServiceAndFinish,
  finishAfterFailure,
  reconcileErasure,
  sumOfRounds,
  type ErasureResult,
} from '../erasure/reconcile.ts';
import { deletionReceiver } from '../erasure/receive.ts';
import { replayErasures, type ReplayResult } from '../erasure/fence/restore.ts';
import type { JobContext } from '../job/job-context.ts';
import { runJob, type JobResult } from '../job/run-job.ts';
import { claimMirror } from '../mirror/mirrored-project.ts';
import { listRequests } from '../mirror/erasure-requests.ts';
import { approvePlan } from '../mirror/suspects.ts';
import { removeUnnamedParts } from '../snapshot/remove-unnamed.ts';
import {
  planDatasetAbsence,
  reconcileAbsence,
  type AbsenceParts,
  type AbsenceResult,
} from '../sync/absence.ts';

/** What is to be done with absent rows of a dataset: how many are asked for, wait, or are held under a plan's name. */
type PlannedAbsence = {
  dataset: string;
  ask: number;
  wait: number;
  hold: { plan: string; rows: number } | null;
};

/** All that a reconciliation is about to do, without personal data. */
export type ReconcilePlan = { absence: PlannedAbsence[]; erasure: ErasurePlan };

/** What came of it. Held when something waits for a person. */
export type ReconcileJobResult = JobResult & {
  plan: ReconcilePlan;
  /** What an older copy of the mirror had brought back; null where it was none. */
  replayed: ReplayResult | null;
  /** Requests that the mirror knows no longer: they are ended, and have to be added again. */
  lost: string[];
  erasure: ErasureResult;
  absence: AbsenceResult;
};

/** Works out what a reconciliation would do now. Changes nothing. */
export async function planReconcile(
  parts: Omit<AbsenceParts, 'service'> & Parameters<typeof planErasure>[0],
): Promise<{ plan: ReconcilePlan; planned: Awaited<ReturnType<typeof planErasure>> }> {
  const absence = pagedDatasets.map((dataset): PlannedAbsence => {
    const { ask, wait, hold } = planDatasetAbsence(parts, dataset);
    return {
      dataset,
      ask: ask.length,
      wait: wait.length,
      hold: hold ? { plan: hold.plan, rows: hold.rows.length } : null,
    };
  });
  const planned = await planErasure(parts);
  return { plan: { absence, erasure: planned.plan }, planned };
}

/**
 * Takes every erasure and every pending deletion as far as it can go now, as one run: first what needs no service, then
 * the rest. `approve` names a held plan that may go on; a name that no plan has is a `usage` error, and then nothing is
 * done.
 */
export function runReconcileJob(
  context: JobContext,
  approve: string | undefined,
): Promise<ReconcileJobResult> {
  return runJob(context, 'reconcile', async (own) => {
    const { db, settings, clock, project, signal } = own;
    if (project) claimMirror(db, project, settings.service.movedFrom);
    if (approve !== undefined && !approvePlan(db, approve, isoTime(clock.now())))
      throw new AppError('there is no plan of that name', {
        code: 'usage',
        hint: '`reconcile --dry-run` shows the plans that wait for approval',
      });
    const replayed = replayErasures(own);
    const lost = endLostRequests(own);
    try {
      return await reconcile(own, { replayed, lost });
    } catch (error) {
      // Where this fails too, the error that came first is the one to report.
      const isTakenOver = error instanceof AppError && error.code === 'busy';
      if (!signal.aborted && !isTakenOver) await finishAfterFailure(own).catch(() => undefined);
      throw error;
    }
  });
}

async function reconcile(
  context: JobContext,
  { replayed, lost }: Pick<ReconcileJobResult, 'replayed' | 'lost'>,
): Promise<ReconcileJobResult> {
  const { db, service } = context;
  // What a kill left: whole files that no manifest names, the old or the new ones, and drafts.
  removeUnnamedParts(context.published);
  const { plan, planned } = await planReconcile(context);
  const here = await eraseHere(context, planned);
  const requestsBefore = new Set(listRequests(db, 'all').map(({ id }) => id));
  const absence: AbsenceResult = service
    ? await reconcileAbsence({ ...context, service, onDeletion: deletionReceiver(context) })
    : { ...nothingAsked };
  const there = await askServiceAndFinish(context);
  // Deletions that the service has confirmed only now are no part of the plan, and go on all the same.
  const found = listRequests(db, 'open').filter(({ id }) => !requestsBefore.has(id));
  const later = found.length > 0 ? await reconcileErasure(context, new Set(found.map(({ id }) => id))) : null;
  const erasure = later ? sumOfRounds({ ...here, ...there }, later) : { ...here, ...there };
  const isHeld = absence.held.length + erasure.attention + lost.length > 0;
  const { held, ...counts } = absence;
  return {
    outcome: isHeld ? 'held' : 'done',
    counts: { ...counts, ...erasure },
    plan,
    replayed,
    lost,
    erasure,
    absence,
  };
}

const nothingAsked: AbsenceResult = {
  asked: 0,
  alive: 0,
  deleted: 0,
  merged: 0,
  expired: 0,
  waiting: 0,
  held: [],
};
