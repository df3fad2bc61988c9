import type { AbsenceResult } from '../sync/absence.ts';
import type { HeldPlan } from '../mirror/suspects.ts';
import { countText, secondText } from '../core/words.ts';

/** What came of absent rows, for people; nothing where there were none. */
export function absenceText({
  asked,
  alive,
  deleted,
  merged,
  expired,
  waiting,
  held,
}: AbsenceResult): string {
  const done = [
    [deleted, 'deleted'],
    [merged, 'merged into others'],
    [expired, 'expired'],
    [alive, 'there after all'],
    [waiting, 'to be asked for again'],
  ] as const;
  const parts = done.filter(([count]) => count > 0).map(([count, what]) => `${countText(count)} ${what}`);
  const lines =
    parts.length === 0
      ? []
      : [`\nno longer in the lists: ${parts.join(', ')} (${countText(asked)} asked for)\n`];
  return [...lines, ...held.map(heldText)].join('');
}

/** A plan that waits for a person, and how to approve it. */
export function heldText({ plan, dataset, rows, rowsTotal, heldAt }: HeldPlan): string {
  const share =
    rowsTotal > 0 ? ` of ${countText(rowsTotal)} (${((rows * 100) / rowsTotal).toFixed(1)} %)` : '';
  return `
HELD since ${secondText(heldAt)}: ${countText(rows)} ${dataset}${share} are no longer in the list, more than deletions.maxShare or
deletions.maxCount allow. Nothing has been deleted. If this is right: analytics-mirror reconcile --approve ${plan}
`;
}
