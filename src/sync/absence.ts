import { isoTime } from '../core/clock.ts';
import { type AppError, usageError, withHint } from '../core/errors.ts';
import { pausing } from '../core/pausing.ts';
import { isAgreed, presentOf } from '../core/present.ts';
import { countedText, countText, secondText } from '../core/words.ts';
import { pagedDatasets, type PagedDataset } from '../contract/datasets.ts';
import { isSingleCase, singleCasesMax, type Service } from '../client/service.ts';
import { countDepartures, prepareCountDeparture } from '../mirror/departures.ts';
import { listExpiredRecordings, prepareRemoveRow } from '../mirror/remove-rows.ts';
import { countTable } from '../mirror/read-rows.ts';
import { beginWaitsAnew } from '../mirror/service-clock.ts';
import {
  acquitSuspect,
  approvePlan,
  confirmSuspect,
  findPlan,
  holdSuspects,
  listHeldPlans,
  listSuspects,
  releasePlans,
  releaseSeenSuspects,
  type HeldPlan,
  type Suspect,
} from '../mirror/suspects.ts';
import { prepareWriteRows } from '../mirror/write-rows.ts';
import { controlOf, ofOneRow } from '../client/control.ts';
import { personBatches, batchFrom, personsEach } from '../client/person-batches.ts';
import { askForRow, type Answer, askTogether, type Sought } from './ask-for-row.ts';
import { planAbsence, type AbsencePlan } from './absence-plan.ts';
import { resultsByBatch, turned } from '../core/batches.ts';
import { transact } from '../mirror/transact.ts';
import type { ServiceContext } from '../job/job-context.ts';

/** What judging absence needs. */
export type AbsenceParts = Pick<ServiceContext, 'db' | 'service' | 'settings' | 'clock' | 'signal'> & {
  /** Is called for each row whose deletion is certain, in the transaction that is about to remove it. */
  onDeletion?: ((dataset: PagedDataset, key: string) => void) | undefined;
  /** Is called when what the service has said of some rows is in the mirror. */
  onStep?: (() => void) | undefined;
  /** What was counted before, where the same work was stopped and is taken up again. It is counted on here. */
  tally?: AbsenceTally | undefined;
};

/** What came of absent rows so far. */
type AbsenceTally = Omit<AbsenceResult, 'held'>;

/** What a plan needs: it asks the service for nothing, and goes by the time that was heard of it. */
type PlanParts = Omit<AbsenceParts, 'service' | 'signal'> & { service: Service | null };

/** What came of the absent rows. */
export type AbsenceResult = {
  /** Rows that the service was asked for. */
  asked: number;
  alive: number;
  /** Rows that left the mirror, by reason. */
  deleted: number;
  merged: number;
  expired: number;
  /** Rows that the service has no longer, but has not said so often enough yet. */
  waiting: number;
  /** Plans that wait for a person. */
  held: HeldPlan[];
};

const rowsPerTransaction = 1000;

/** What is to be done with a dataset's absent rows now. Changes nothing. */
export function planDatasetAbsence(parts: PlanParts, dataset: PagedDataset): AbsencePlan<Suspect> {
  const { db, settings } = parts;
  const present = presentOf(parts);
  const rows = { rowsTotal: countTable(db, dataset), rowsLeft: countDepartures(db, dataset, present) };
  return planAbsence(dataset, listSuspects(db, dataset), rows, settings.deletions, present.earliestMs);
}

/** Plans the absent rows of a dataset, and holds those that are too many. */
function holdAbsent(parts: PlanParts, dataset: PagedDataset): AbsencePlan<Suspect> {
  const { db, clock } = parts;
  releaseSeenSuspects(db, dataset);
  const planned = planDatasetAbsence(parts, dataset);
  if (planned.hold) {
    const { plan, rows, rowsTotal } = planned.hold;
    const held = { plan, dataset, rows: rows.length, rowsTotal, heldAt: isoTime(clock.now()) };
    const rowKeys = rows.map(({ rowKey }) => rowKey);
    holdSuspects(db, held, rowKeys);
  } else releasePlans(db, dataset);
  return planned;
}

/**
 * Approves a held plan by its name, for the rows that it was shown with. Throws `usage`, and then nothing is approved, for a
 * name that means no held plan now; the message says what became of the plan.
 */
export function approveHeldPlan(parts: PlanParts, name: string): void {
  const { db, clock } = parts;
  const approve = (): boolean => approvePlan(db, name, isoTime(clock.now()));
  if (approve()) return;
  // `reconcile --dry-run` may have shown a plan that no run has held yet.
  for (const dataset of pagedDatasets) holdAbsent(parts, dataset);
  if (approve()) return;
  const known = findPlan(db, name);
  if (!known)
    throw usageError('there is no plan of that name', '`reconcile --dry-run` shows the plans that wait for approval');
  const { dataset, rows, approvedAt } = known;
  const now = listHeldPlans(db).find((held) => held.dataset === dataset);
  if (now)
    throw usageError(
      `plan ${name} (${countText(rows)} ${dataset}) was replaced by plan ${now.plan} (${countText(now.rows)} ${dataset}), since other rows are no longer listed now; nothing was approved`,
      `if all of these are right: analytics-mirror reconcile --approve ${now.plan}`,
    );
  throw usageError(
    approvedAt === null
      ? `plan ${name} holds nothing any more: its ${dataset} are listed again, or few enough to need no approval`
      : `plan ${name} was approved at ${secondText(approvedAt)} and holds nothing any more`,
    'there is nothing to approve; `status` shows what is held',
  );
}

/**
 * Takes every absent row as far as it can go now: held when they are too many, asked for when it is time, and out of
 * the mirror once the service has said often enough that it has no such row. An answer that says nothing about the row
 * leaves the row where it was. If it may be about that row only, the other rows go on, and the first such error is thrown at
 * the end; a refused key, a service that cannot be reached, or too many of the former end it at once.
 */
export async function reconcileAbsence(parts: AbsenceParts): Promise<AbsenceResult> {
  const { db, settings, onStep, tally: result = newTally() } = parts;
  const { latestMs, aheadMs } = presentOf(parts);
  if (aheadMs !== null) beginWaitsAnew(db, isoTime(latestMs), null);
  result.expired += await expireRecordings(parts);
  // Those that wait are among the rows that are planned now.
  result.waiting = 0;
  const asking = prepareAsking(parts);
  const isDeciding = ({ confirmations }: Suspect): boolean => confirmations + 1 >= settings.deletions.confirmations;
  for (const dataset of pagedDatasets) {
    const { ask, wait } = holdAbsent(parts, dataset);
    result.waiting += wait.length;
    const apply = prepareApply(parts, dataset, result);
    for await (const answered of asking.answers(dataset, turned(ask, parts.clock.now()), isDeciding)) {
      for (const [suspect, answer] of answered) apply(suspect, answer);
      onStep?.();
    }
  }
  const [failure] = asking.failures;
  const left = countedText(asking.failures.length, 'row');
  if (failure)
    throw withHint(failure, `nothing was decided about ${left} that the lists no longer show; the others went on`);
  return { ...result, held: listHeldPlans(db) };
}

/**
 * What the service says now of rows that have left the mirror as deleted, by key: `unknown` where it says nothing that counts.
 * Throws where no other row would fare better.
 */
export async function askAgain(
  parts: AskParts,
  dataset: PagedDataset,
  rows: readonly Sought[],
): Promise<ReadonlyMap<string, Answer['verdict']>> {
  const verdicts = new Map<string, Answer['verdict']>();
  try {
    for await (const answered of prepareAsking(parts).answers(dataset, rows, () => true))
      for (const [{ key }, { verdict }] of answered) verdicts.set(key, verdict);
  } catch (error) {
    // Too many rows alone: the others have been told of.
    if (!isSingleCase(error)) throw error;
  }
  return verdicts;
}

/** What asking for absent rows needs. */
type AskParts = Pick<AbsenceParts, 'service' | 'settings' | 'signal'>;

/**
 * Prepares the asking of one run. Answers come some at a time, each 404 held against a control. An error that may be about one row
 * alone is kept in `failures`, and the row's answer is `unknown`.
 */
function prepareAsking(parts: AskParts) {
  const { service, settings, signal } = parts;
  const failures: AppError[] = [];
  const batches = personBatches(service, signal);
  const control = controlOf(parts);
  const paths = { takeUuids: true };
  async function* answers<Row extends Sought>(
    dataset: PagedDataset,
    rows: readonly Row[],
    isDeciding: (row: Row) => boolean,
  ): AsyncGenerator<readonly (readonly [Row, Answer])[]> {
    const ask = async (row: Row): Promise<readonly [Row, Answer]> => {
      try {
        return [row, await askForRow(service, dataset, row, signal, paths)];
      } catch (caught) {
        const error = await ofOneRow(caught, dataset, { control, service, signal });
        if (!isSingleCase(error) || failures.push(error) >= singleCasesMax) throw error;
        return [row, { verdict: 'unknown' }];
      }
    };
    const areMany = dataset === 'persons' && rows.length >= batchFrom;
    for (let first = 0; first < rows.length; first += personsEach) {
      signal.throwIfAborted();
      const part = rows.slice(first, first + personsEach);
      const told = areMany ? await askTogether(batches, part, isDeciding) : new Map<Row, Answer>();
      yield [...told];
      const others = part.filter((row) => !told.has(row));
      for await (const answered of resultsByBatch(others, { atOnce: settings.budget.concurrency, signal }, ask)) {
        // A new one each time: a proof is from before these answers, and an outage can begin within a run of hours.
        if (answered.some(([, { verdict }]) => verdict === 'gone' || verdict === 'merged'))
          await controlOf(parts)(dataset);
        yield answered;
      }
    }
  }
  return { failures, answers };
}

/** Before the first row. */
export function newTally(): AbsenceTally {
  return { asked: 0, alive: 0, deleted: 0, merged: 0, expired: 0, waiting: 0 };
}

/** Lets go of the recordings that the service keeps no longer, and returns how many. */
async function expireRecordings({ db, settings, clock, service, signal }: AbsenceParts): Promise<number> {
  const { retentionDays } = settings.recordings;
  const { earliestMs, aheadMs } = presentOf({ clock, service });
  if (!isAgreed(aheadMs)) return 0;
  const removeRow = prepareRemoveRow(db, 'recordings');
  const pause = pausing(signal);
  const startedBefore = retentionDays === null ? null : isoTime(earliestMs - retentionDays * 86_400_000);
  const rowKeys = listExpiredRecordings(db, { at: isoTime(earliestMs), startedBefore });
  for (let first = 0; first < rowKeys.length; first += rowsPerTransaction) {
    // Between two transactions the signal can stop the run, and the lease is renewed.
    await pause();
    const at = isoTime(clock.now());
    transact(db, () => {
      for (const rowKey of rowKeys.slice(first, first + rowsPerTransaction)) removeRow(rowKey, 'expired', at);
    });
  }
  return rowKeys.length;
}

/** What an answer changes in the mirror, each row in a transaction of its own. */
function prepareApply(
  { db, settings, clock, service, onDeletion }: AbsenceParts,
  dataset: PagedDataset,
  result: AbsenceTally,
): (suspect: Suspect, answer: Answer) => void {
  const writeRows = prepareWriteRows(db, dataset);
  const removeRow = prepareRemoveRow(db, dataset);
  const countDeparture = prepareCountDeparture(db, dataset);
  return (suspect, answer) => {
    const at = isoTime(clock.now());
    const latest = isoTime(presentOf({ clock, service }).latestMs);
    result.asked += 1;
    transact(db, () => {
      if (answer.verdict === 'unknown') {
        result.waiting += 1;
        return;
      }
      if ('row' in answer) writeRows({ rows: [answer.row], quarantined: [], at }, suspect.nominatedPass);
      if (answer.verdict === 'alive') {
        acquitSuspect(db, dataset, suspect.rowKey);
        result.alive += 1;
        return;
      }
      confirmSuspect(db, dataset, suspect.rowKey, latest);
      if (suspect.confirmations + 1 < settings.deletions.confirmations) {
        result.waiting += 1;
        return;
      }
      const reason = answer.verdict === 'merged' ? 'merged' : 'deleted';
      if (reason === 'deleted') onDeletion?.(dataset, suspect.key);
      if (reason === 'deleted' && !suspect.isApproved) countDeparture(latest);
      const ground = answer.verdict === 'merged' ? { mergedInto: String(answer.row['uuid']) } : undefined;
      removeRow(suspect.rowKey, reason, at, ground);
      result[reason] += 1;
    });
  };
}
