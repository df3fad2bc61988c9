import { isoTime, type Clock } from '../core/clock.ts';
import type { Service } from '../client/service.ts';
import type { Settings } from '../config/settings.ts';
import type { Database } from '../mirror/database.ts';
import { listRecordingsBefore, removeRow } from '../mirror/remove-row.ts';
import { countRows } from '../mirror/row-counts.ts';
import {
  acquitSuspect,
  confirmSuspect,
  holdSuspects,
  listHeldPlans,
  listSuspects,
  releaseSeenSuspects,
  type AbsenceDataset,
  type HeldPlan,
  type Suspect,
} from '../mirror/suspects.ts';
import { prepareWriteRows } from '../mirror/write-rows.ts';
import { askForProject, askForRow, type Answer } from './ask-for-row.ts';
import { planAbsence, type AbsencePlan } from './absence-plan.ts';

/** What judging absence needs. */
export type AbsenceParts = {
  db: Database;
  service: Service;
  settings: Settings;
  clock: Clock;
  signal: AbortSignal;
};

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

export const absenceDatasets: readonly AbsenceDataset[] = ['persons', 'recordings'];

/** What is to be done with a dataset's absent rows now. Changes nothing but to let go of rows that were seen again. */
export function planDatasetAbsence(
  { db, settings, clock }: Omit<AbsenceParts, 'service' | 'signal'>,
  dataset: AbsenceDataset,
): AbsencePlan<Suspect> {
  releaseSeenSuspects(db, dataset);
  return planAbsence(
    dataset,
    listSuspects(db, dataset),
    countRows(db)[dataset],
    settings.deletions,
    clock.now(),
  );
}

/**
 * Takes every absent row as far as it can go now: held when they are too many, asked for when it is time, and out of
 * the mirror once the service has said often enough that it has no such row. An answer that says nothing about the row
 * (a refused key, a failing service) ends it with that error, and leaves every row where it was.
 */
export async function reconcileAbsence(parts: AbsenceParts): Promise<AbsenceResult> {
  const { db, settings, clock } = parts;
  const result: AbsenceResult = {
    asked: 0,
    alive: 0,
    deleted: 0,
    merged: 0,
    expired: 0,
    waiting: 0,
    held: [],
  };
  const { retentionDays } = settings.recordings;
  if (retentionDays !== null) {
    const oldest = isoTime(clock.now() - retentionDays * 86_400_000);
    for (const rowKey of listRecordingsBefore(db, oldest)) {
      removeRow(db, 'recordings', rowKey, 'expired', isoTime(clock.now()));
      result.expired += 1;
    }
  }
  for (const dataset of absenceDatasets) {
    const { ask, wait, hold } = planDatasetAbsence(parts, dataset);
    result.waiting += wait.length;
    if (hold) {
      const rowKeys = hold.rows.map(({ rowKey }) => rowKey);
      const rowsTotal = countRows(db)[dataset];
      holdSuspects(
        db,
        { plan: hold.plan, dataset, rows: rowKeys.length, rowsTotal, heldAt: isoTime(clock.now()) },
        rowKeys,
      );
    }
    const apply = prepareApply(parts, dataset, result);
    const atOnce = settings.budget.concurrency;
    for (let first = 0; first < ask.length; first += atOnce) {
      const some = ask.slice(first, first + atOnce);
      const answers = await Promise.all(
        some.map((suspect) => askForRow(parts.service, dataset, suspect, parts.signal)),
      );
      if (answers.some(({ verdict }) => verdict === 'gone' || verdict === 'merged'))
        await askForProject(parts.service, dataset, parts.signal);
      some.forEach((suspect, index) => apply(suspect, answers[index] ?? { verdict: 'unknown' }));
    }
  }
  return { ...result, held: listHeldPlans(db) };
}

/** What an answer changes in the mirror, each row in a transaction of its own. */
function prepareApply(
  { db, settings, clock }: AbsenceParts,
  dataset: AbsenceDataset,
  result: AbsenceResult,
): (suspect: Suspect, answer: Answer) => void {
  const writeRows = prepareWriteRows(db, dataset);
  return (suspect, answer) => {
    const at = isoTime(clock.now());
    result.asked += 1;
    db.transaction(() => {
      if (answer.verdict === 'unknown') {
        result.waiting += 1;
        return;
      }
      if (answer.verdict === 'alive') {
        writeRows({ rows: [answer.row], quarantined: [], at }, suspect.nominatedPass);
        acquitSuspect(db, dataset, suspect.rowKey);
        result.alive += 1;
        return;
      }
      if (answer.verdict === 'merged')
        writeRows({ rows: [answer.survivor], quarantined: [], at }, suspect.nominatedPass);
      confirmSuspect(db, dataset, suspect.rowKey, at);
      if (suspect.confirmations + 1 < settings.deletions.confirmations) {
        result.waiting += 1;
        return;
      }
      const reason = answer.verdict === 'merged' ? 'merged' : 'deleted';
      removeRow(db, dataset, suspect.rowKey, reason, at);
      result[reason] += 1;
    }).immediate();
  };
}
