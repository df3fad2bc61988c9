import type { PassReport } from '../sync/pass-report.ts';
import { countText, secondText } from '../core/words.ts';
import { formatTable } from './table.ts';

/** Passes for people: what each saw, and its verdict with the reason; and what the fence kept out, where it did. */
export function passTable(passes: readonly PassReport[]): string {
  const isFenced = passes.some(({ rowsFenced }) => rowsFenced > 0);
  return formatTable(
    [
      { heading: 'pass' },
      { heading: 'verdict' },
      { heading: 'rows', align: 'right' },
      { heading: 'new', align: 'right' },
      { heading: 'changed', align: 'right' },
      { heading: 'quarantined', align: 'right' },
      ...(isFenced ? [{ heading: 'kept out', align: 'right' } as const] : []),
      { heading: 'pages', align: 'right' },
      { heading: 'step-backs', align: 'right' },
      { heading: 'ended' },
    ],
    passes.map((pass) => [
      `${pass.dataset} ${pass.mode}`,
      verdictCell(pass),
      countText(pass.rowsReceived),
      countText(pass.rowsAdded),
      countText(pass.rowsChanged),
      countText(pass.rowsQuarantined),
      ...(isFenced ? [countText(pass.rowsFenced)] : []),
      countText(pass.windows),
      countText(pass.stepBacks),
      pass.finishedAt === null ? 'running' : secondText(pass.finishedAt),
    ]),
  );
}

function verdictCell({ verdict, reason, countReported, assumptions }: PassReport): string {
  if (reason !== null) return `${verdict} (${reason.replaceAll('_', ' ')})`;
  if (assumptions.countReached !== false || countReported === null) return verdict;
  return `${verdict} (but the service counts ${countText(countReported)})`;
}
