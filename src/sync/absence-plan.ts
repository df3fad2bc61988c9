import { sha256 } from '../core/digest.ts';

/** How absence is judged, from the settings. */
export type AbsenceRules = {
  /** A batch above this share of all rows, or above this count, waits for a person. */
  maxShare: number;
  maxCount: number;
  /** How often the service has to say that it has no such row, and how far apart. */
  confirmations: number;
  confirmAfterSeconds: number;
};

/** What is known of a row that a complete pass did not see. */
export type AbsentRow = {
  key: string;
  confirmations: number;
  confirmedAt: string | null;
  plan: string | null;
  isApproved: boolean;
};

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
 * Decides which absent rows the service is asked for. Rows that nobody has approved go on only while they are few:
 * many at once are more likely a fault of the list than deletions. An approval covers the rows of its plan and no
 * others.
 */
export function planAbsence<T extends AbsentRow>(
  dataset: string,
  absent: readonly T[],
  rowsTotal: number,
  rules: AbsenceRules,
  nowMs: number,
): AbsencePlan<T> {
  const unapproved = absent.filter(({ isApproved }) => !isApproved);
  const isTooMany = unapproved.length > Math.min(rules.maxCount, Math.max(1, Math.ceil(rules.maxShare * rowsTotal)));
  const free = isTooMany ? absent.filter(({ isApproved }) => isApproved) : absent;
  const isDue = ({ confirmedAt }: T): boolean =>
    confirmedAt === null || nowMs - Date.parse(confirmedAt) >= rules.confirmAfterSeconds * 1000;
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
