import type { Settings } from '../config/settings.ts';
import { sha256 } from '../core/digest.ts';
import type { Suspect } from '../mirror/suspects.ts';

/**
 * How absence is judged: rows above a share of all, or above a count, are held, those that left lately included; the service is asked
 * again only after a while.
 */
export type AbsenceRules = Pick<Settings['deletions'], 'maxShare' | 'maxCount' | 'confirmAfterSeconds'>;

/** What is known of a row that a complete pass did not see. */
export type AbsentRow = Pick<Suspect, 'key' | 'confirmedAt' | 'isApproved'>;

/** What is to be done with the absent rows of a dataset now. */
export type AbsencePlan<T extends AbsentRow> = {
  /** The service is asked for these. */
  ask: T[];
  /** These were confirmed too lately to be asked for again. */
  wait: T[];
  /** These wait for a person, as one plan, among all the rows of the dataset; null when nothing does. */
  hold: { plan: string; rows: T[]; rowsTotal: number } | null;
};

/**
 * Decides which absent rows the service is asked for; `nowMs` is the earliest that the present can be. Rows that nobody has approved go on only while they are few:
 * many at once are more likely a fault of the list than deletions. The `rowsLeft` that went lately without an approval count
 * as well, so that a list which loses a few each day is held, too. An approval covers the rows of its plan and no others.
 */
export function planAbsence<T extends AbsentRow>(
  dataset: string,
  absent: readonly T[],
  { rowsTotal, rowsLeft }: { rowsTotal: number; rowsLeft: number },
  rules: AbsenceRules,
  nowMs: number,
): AbsencePlan<T> {
  const unapproved = absent.filter(({ isApproved }) => !isApproved);
  const rowsMax = Math.min(rules.maxCount, Math.max(1, Math.ceil(rules.maxShare * (rowsTotal + rowsLeft))));
  const isTooMany = unapproved.length > 0 && unapproved.length + rowsLeft > rowsMax;
  const free = isTooMany ? absent.filter(({ isApproved }) => isApproved) : absent;
  // A wait of no length is over, whatever clocks say.
  const isDue = ({ confirmedAt }: T): boolean =>
    confirmedAt === null ||
    rules.confirmAfterSeconds === 0 ||
    nowMs - Date.parse(confirmedAt) >= rules.confirmAfterSeconds * 1000;
  return {
    ask: free.filter(isDue),
    wait: free.filter((row) => !isDue(row)),
    hold: isTooMany ? { plan: planDigest(dataset, unapproved), rows: unapproved, rowsTotal } : null,
  };
}

/** The name of a plan: a digest of its dataset and keys, so that it means these rows and no others. */
function planDigest(dataset: string, rows: readonly AbsentRow[]): string {
  return sha256(JSON.stringify([dataset, rows.map(({ key }) => key).toSorted()])).slice(0, 16);
}
