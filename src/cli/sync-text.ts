import { codeText, countText, secondText } from '../core/words.ts';
import { departureDays } from '../mirror/departures.ts';
import type { HeldPlan } from '../mirror/suspects.ts';
import type { AbsenceResult } from '../sync/absence.ts';
import { passRemarks, seenOfCount, type PassReport } from '../sync/pass-report.ts';
import { formatTable } from './table.ts';

/**
 * A table of passes: its verdict and the reason, and the rows that it received, which are more than the list has: pages overlap. The
 * rows that the fence kept out, where there are any.
 */
export function passTable(passes: readonly PassReport[]): string {
  const isFenced = passes.some(({ rowsFenced }) => rowsFenced > 0);
  const setAside = isFenced ? ['in quarantine', 'kept out'] : ['in quarantine'];
  const table = formatTable(
    ['pass', 'verdict', 'received', 'new', 'changed', ...setAside, 'pages', 'steps back', 'ended'],
    passes.map((pass) => [
      `${pass.dataset} ${pass.mode}`,
      verdictCell(pass),
      pass.rowsReceived,
      pass.rowsAdded,
      pass.rowsChanged,
      pass.rowsQuarantined,
      ...(isFenced ? [pass.rowsFenced] : []),
      pass.windows,
      pass.stepBacks,
      pass.finishedAt === null ? pass.verdict : secondText(pass.finishedAt),
    ]),
  );
  const remarks = passRemarks(passes).map(({ detail, fix }) => (fix === undefined ? detail : `${detail}; ${fix}`));
  return [table, ...remarks.map((remark) => `${remark}\n`)].join('');
}

function verdictCell(pass: PassReport): string {
  const { verdict, reason } = pass;
  // A head pass ends where rows are known: that is no fault.
  if (reason === 'head') return 'done';
  const seen = seenOfCount(pass);
  const because = reason === null || (reason === 'count_not_reached' && seen !== null) ? [] : [codeText(reason)];
  const said = [...because, ...(seen === null ? [] : [`${seen} rows seen`])];
  return said.length === 0 ? verdict : `${verdict} (${said.join(', ')})`;
}

/** The results for absent rows, as text; empty where there were none. */
export function absenceText({ asked, held, ...counted }: AbsenceResult): string {
  const done = [
    [counted.deleted, 'deleted'],
    [counted.merged, 'merged into others'],
    [counted.expired, 'expired'],
    [counted.alive, 'there after all'],
    [counted.waiting, 'to be asked for again'],
  ] as const;
  const counts = done.filter(([count]) => count > 0).map(([count, what]) => `${countText(count)} ${what}`);
  const line = `\nno longer in the lists: ${counts.join(', ')} (${countText(asked)} asked for)\n`;
  return [...(counts.length === 0 ? [] : [line]), ...held.map(heldPlanText)].join('');
}

/** A held plan of deletions, and how to approve it. */
export function heldPlanText({ plan, dataset, rows, rowsTotal, heldAt }: HeldPlan): string {
  const share = rowsTotal > 0 ? ` of ${countText(rowsTotal)} (${((rows * 100) / rowsTotal).toFixed(1)} %)` : '';
  return `
HELD since ${secondText(heldAt)}: ${countText(rows)} ${dataset}${share} are no longer in the list. With those that the service deleted in the
last ${departureDays} days they are more than deletions.maxShare or deletions.maxCount allow. Nothing of them has been deleted. If this is right: analytics-mirror reconcile --approve ${plan}
`;
}
