import { join } from 'node:path';
import { draftLivesMs, removeOldDrafts } from '../core/atomic-file.ts';
import { isoTime } from '../core/clock.ts';
import { AppError, withHint } from '../core/errors.ts';
import { countedText } from '../core/words.ts';
import { endLostRequests, refuseForeign } from '../erasure/fence/restore-guard.ts';
import { pagedDatasets } from '../contract/datasets.ts';
import { isSingleCase } from '../client/service.ts';
import { behindReason, tellCatalog, type CatalogReport } from '../bucket/catalog.ts';
import { bucketCounts, keepBuckets, type BucketReport } from '../bucket/keep.ts';
import { countUnacknowledged } from '../erasure/acknowledge.ts';
import { eraseBucket } from '../erasure/erase-bucket.ts';
import { eraseCopies } from '../erasure/erase-copies.ts';
import { eraseHere } from '../erasure/erase-here.ts';
import { settleUnnamed } from '../erasure/settle-unnamed.ts';
import { removeUnrecorded, renewVerifierPage, restoreCertificates } from '../erasure/proof/certificate-file.ts';
import { planErasure, type ErasurePlan } from '../erasure/plan.ts';
import {
  askServiceAndFinish,
  finishAfterFailure,
  reconcileErasure,
  sumOfRounds,
  type ErasureResult,
} from '../erasure/reconcile.ts';
import { askForTime } from '../erasure/ask-service.ts';
import { deletionReceiver } from '../erasure/receive.ts';
import { findUnbound } from '../erasure/bound/find-unbound.ts';
import { replayErasures, type ReplayResult } from '../erasure/fence/restore.ts';
import { readClockStanding, type ClockStanding } from '../job/clock-standing.ts';
import { inTurns } from '../job/in-turns.ts';
import type { InTurns, JobContext } from '../job/job-context.ts';
import { aboveDiskFloor } from '../job/disk-floor.ts';
import { giveUpShown, letBack, type LetBack } from '../erasure/upstream/let-back.ts';
import { runJob, type JobResult } from '../job/run-job.ts';
import { reopenListed } from '../erasure/request/reopen.ts';
import { claimMirror } from '../mirror/runs.ts';
import { consumersSilent } from './alerts.ts';
import { listRequests } from '../mirror/erasure-requests.ts';
import { removeUnnamedParts } from '../snapshot/publish.ts';
import {
  approveHeldPlan,
  askAgain,
  newTally,
  planDatasetAbsence,
  reconcileAbsence,
  type AbsenceParts,
  type AbsenceResult,
} from '../sync/absence.ts';

/** The plan for absent rows of a dataset: how many are asked for, how many wait, how many a named plan holds. */
type PlannedAbsence = { dataset: string; ask: number; wait: number; hold: { plan: string; rows: number } | null };

/** The plan of a reconciliation, without personal data. */
export type ReconcilePlan = { absence: PlannedAbsence[]; erasure: ErasurePlan };

/** The result of a reconciliation. Held when something needs a person's decision. */
export type ReconcileJobResult = JobResult & {
  plan: ReconcilePlan;
  /** What an older copy of the mirror had brought back; null where the mirror is no older copy. */
  replayed: ReplayResult | null;
  /** What was not as the ledger says, each in one sentence; it is brought in line with the ledger. */
  mended: string[];
  /** Erasure requests whose persons the mirror does not name, as it is older or was not written: they are ended, and have to be added again. */
  lost: string[];
  /** Requests of deletions at the service that were ended so. */
  lostDeletions: number;
  erasure: ErasureResult;
  absence: AbsenceResult;
  /** The rows that were taken for deleted at the service, and that it shows again. */
  listedAgain: LetBack;
  /** How the bucket followed; null where there is none. */
  bucket: BucketReport | null;
  /** What a catalog was told; null where there is none. */
  catalog: CatalogReport | null;
  /** Where clocks are apart, nothing has ended because of a time. */
  clock: ClockStanding;
};

/** Works out what a reconciliation would do now. Changes nothing. */
export async function planReconcile(
  context: Omit<AbsenceParts, 'service'> & Parameters<typeof planErasure>[0],
): Promise<{ plan: ReconcilePlan; planned: Awaited<ReturnType<typeof planErasure>> }> {
  const absence = pagedDatasets.map((dataset): PlannedAbsence => {
    const { ask, wait, hold } = planDatasetAbsence(context, dataset);
    return {
      dataset,
      ask: ask.length,
      wait: wait.length,
      hold: hold ? { plan: hold.plan, rows: hold.rows.length } : null,
    };
  });
  const planned = await planErasure(context);
  return { plan: { absence, erasure: planned.plan }, planned };
}

/**
 * Advances every erasure request and every pending deletion as far as it can go now, as one run: first the steps that need
 * no service, then the others. `approve` names a held plan that may go on. A name that means no held plan now is a `usage` error, and
 * then nothing is deleted.
 */
export function runReconcileJob(context: JobContext, approve: string | undefined): Promise<ReconcileJobResult> {
  return runJob(
    context,
    'reconcile',
    aboveDiskFloor(async (own) => {
      const { db, settings, project, signal, clock } = own;
      const startedAt = isoTime(clock.now());
      if (project) claimMirror(db, project, settings.service.movedFrom);
      if (approve !== undefined) approveHeldPlan(own, approve);
      // First: once a request is open again, the ledger gives its earlier certificate no more.
      if (own.remote) restoreCertificates(own);
      const found = await findUnbound(own);
      const replayed = replayErasures(own, found);
      reopenListed(own);
      const mended = found.differences.map(({ sentence }) => sentence);
      const first = { replayed, mended, ...endLostRequests(own) };
      const { lost: requests } = first;
      // A worker has nobody to whom it could name them at its end.
      if (requests.length > 0)
        own.log.warn({ requests }, 'mirror.db does not name these persons, so their requests ended: add them again');
      // Between two parts the folder is others', and afterwards perhaps not as the ledger says.
      const folder = { isLeft: false };
      const turns: InTurns = (work) =>
        inTurns(
          own,
          () => refuseForeign(own),
          async (part) => {
            folder.isLeft = false;
            return await work(part).catch((error: unknown) => {
              folder.isLeft = error === part.signal.reason;
              throw error;
            });
          },
        );
      try {
        return await reconcile(own, turns, first);
      } catch (error) {
        // Where this fails too, the error that came first is the one to report.
        const isTakenOver = error instanceof AppError && error.code === 'busy';
        if (!signal.aborted && !isTakenOver && !folder.isLeft)
          await finishAfterFailure(own, error).catch(() => undefined);
        if (!(error instanceof AppError)) throw error;
        const done = doneBefore(db, startedAt, first);
        throw done.length === 0 ? error : withHint(error, `before it failed, this run did: ${done.join('; ')}`);
      }
    }),
  );
}

/** What a run has done so far, each in some words. */
function doneBefore(
  db: JobContext['db'],
  startedAt: string,
  { replayed, mended, lost }: Pick<ReconcileJobResult, 'replayed' | 'mended' | 'lost'>,
): string[] {
  const requests = listRequests(db, 'all');
  const since = (at: 'fencedAt' | 'verifiedAt' | 'certifiedAt' | 'refusedAt', what: string): string[] => {
    const count = requests.filter((request) => (request[at] ?? '') >= startedAt).length;
    return count === 0 ? [] : [`${countedText(count, 'request')} ${what}`];
  };
  return [
    ...mended.map((sentence) => `mended: ${sentence}`),
    ...(replayed === null ? [] : [`${countedText(replayed.rows, 'row')} of an older copy erased again`]),
    ...(lost.length === 0
      ? []
      : [`requests whose persons mirror.db does not name ended, to be added again: ${lost.join(' ')}`]),
    ...since('fencedAt', 'fenced and taken out of the mirror'),
    ...since('verifiedAt', 'proved gone from here'),
    ...since('certifiedAt', 'certified'),
    ...since('refusedAt', 'refused'),
  ];
}

async function reconcile(
  context: JobContext,
  turns: InTurns,
  { replayed, mended, lost, lostDeletions }: Pick<ReconcileJobResult, 'replayed' | 'mended' | 'lost' | 'lostDeletions'>,
): Promise<ReconcileJobResult> {
  const { db, service } = context;
  // A killed run may have left drafts, and whole files that no manifest names.
  removeUnnamedParts(context.published);
  removeLeftDrafts(context);
  removeUnrecorded(context);
  renewVerifierPage(context);
  const neverFenced = lost.length;
  lost.push(...(await settleUnnamed(context)));
  const givenUp = await giveUpShown(context, service && ((...rows) => askAgain({ ...context, service }, ...rows)));
  const { plan, planned } = await planReconcile(context);
  const here = await eraseHere(context, planned);
  // Old metadata is gone now. A catalog that does not answer is asked once more at the end.
  await tellCatalog(context, await eraseBucket(context));
  await eraseCopies(context);
  await askForTime(context);
  const requestsBefore = new Set(listRequests(db, 'all').map(({ id }) => id));
  // What the service fails at stops neither other requests nor the deletions of others.
  let failure: AppError | undefined;
  const fail = (error: AppError): void => {
    failure ??= error;
  };
  // Whom people ask for comes first: to ask for rows can take hours.
  const there = await askServiceAndFinish(context, turns, fail);
  const tally = newTally();
  const absence: AbsenceResult = service
    ? await turns((part) =>
        reconcileAbsence({ ...context, ...part, service, tally, onDeletion: deletionReceiver(context) }),
      ).catch((error: unknown) => {
        if (!isSingleCase(error)) throw error;
        fail(error);
        return nothingAsked;
      })
    : nothingAsked;
  // Deletions that the service has confirmed only now are not in the plan, but are carried out too.
  const found = listRequests(db, 'open').filter(({ id }) => !requestsBefore.has(id));
  const later = found.length > 0 ? await reconcileErasure(context, new Set(found.map(({ id }) => id)), turns) : null;
  const erasure = later ? sumOfRounds({ ...here, ...there }, later) : { ...here, ...there };
  const { letIn: letBackIn, staysOut } = await letBack(context);
  const listedAgain = { letIn: letBackIn + givenUp, staysOut };
  // Last: feeds have lost rows, and files of the feeds were rewritten.
  const bucket = await keepBuckets(context);
  const catalog = await tellCatalog(context, bucket);
  if (failure) throw failure;
  const behind = behindReason(bucket, catalog);
  const { settings, clock } = context;
  const silent = countUnacknowledged(context.ledger().histories.all(), clock.now(), settings.alerts.acknowledgeDays);
  // The bucket has an alert of its own.
  const reason = silent > 0 ? consumersSilent : behind;
  const clockStanding = readClockStanding(db, settings.dataDir, clock.now());
  const { held: heldRequests, attention, cancelled, unreached } = erasure;
  const isHeld =
    absence.held.length + heldRequests + attention + cancelled + unreached + lost.length + lostDeletions + staysOut >
      0 ||
    behind !== undefined ||
    clockStanding.problem !== null;
  const { held, ...counts } = absence;
  return {
    outcome: isHeld ? 'held' : 'done',
    ...(reason === undefined ? {} : { reason }),
    counts: {
      ...counts,
      ...erasure,
      ...listedAgain,
      ...bucketCounts(bucket),
      ...(silent > 0 ? { unacknowledged: silent } : {}),
      ...(neverFenced > 0 ? { lost: neverFenced } : {}),
    },
    plan,
    replayed,
    mended,
    lost,
    lostDeletions,
    erasure,
    absence,
    listedAgain,
    bucket,
    catalog,
    clock: clockStanding,
  };
}

/** Another process may be writing a draft now: only old ones were left by a kill. */
function removeLeftDrafts({ settings: { dataDir }, clock }: JobContext): void {
  for (const folder of ['', 'keys', 'ledger', 'reports', 'reports/certificates', 'reports/drills'])
    removeOldDrafts(join(dataDir, folder), clock.now() - draftLivesMs);
}

const nothingAsked: AbsenceResult = { ...newTally(), held: [] };
