import { z } from 'zod';
import { pageSizeMax } from '../config/setting-kinds.ts';
import { countedText, countText } from '../core/words.ts';
import type { Pass, UntoldEntries } from '../mirror/passes.ts';
import { momentRowsMax, widestRowsOf } from './walk-windows.ts';

/** A pass as people and programs are shown it: its verdict, and the evidence for it. */
export type PassReport = Omit<Pass, 'verdict' | 'plan' | 'isOrdered' | 'momentRows' | 'isDefaultWindow' | 'cursor'> & {
  /** `running` while the pass goes on, `unfinished` where it was interrupted and the next pass continues it. */
  verdict: 'complete' | 'incomplete' | 'running' | 'unfinished';
  /** `countReached`: whether the pass has seen as many rows as counted; null without a count or another end. */
  assumptions: {
    newestFirst: boolean;
    countReached: boolean | null;
    defaultWindow: boolean;
    /** Where the service was trusted to keep the order of rows of one moment: the largest such moment. */
    keptMoment: LargeMoment | null;
  };
};

/** Rows of one moment, more than a window of a pass holds, and the page size that makes it hold them; null where none does. */
export type LargeMoment = { rows: number; pageSize: number | null };

/** Reports a pass of the mirror. */
export function reportPass(pass: Pass): PassReport {
  const { plan: _plan, cursor: _cursor, isOrdered, momentRows: _rows, isDefaultWindow, ...shown } = pass;
  return {
    ...shown,
    verdict: pass.verdict ?? 'running',
    assumptions: {
      newestFirst: isOrdered,
      countReached: isCountReached(pass),
      defaultWindow: isDefaultWindow,
      keptMoment: largeMomentOf(pass),
    },
  };
}

/** Why the recordings of a playlist are not known, in words. */
export const untoldWords: Readonly<Record<UntoldEntries['reason'], string>> = {
  cut: 'the service has more than it shows',
  refused: 'the service refuses it to this key',
  no_list: 'the service answers without a list',
  not_found: 'the service does not know it',
};

/** Something to be said beside passes. `fix`: the setting that helps, where one does. */
type Remark = { detail: string; fix?: string };

/** What passes took on trust, and what they were not told. */
export function passRemarks(passes: readonly PassReport[]): Remark[] {
  const isLimited = passes.some(({ assumptions }) => assumptions.defaultWindow);
  const own = passes.flatMap((pass) => {
    const { keptMoment } = pass.assumptions;
    return [
      ...(keptMoment === null ? [] : [momentWords(pass, keptMoment)]),
      ...untoldRemarks(pass),
      ...countRemarks(pass),
      ...holderRemarks(pass),
    ];
  });
  return isLimited ? [defaultWindow, ...own] : own;
}

/** How many rows with a distinct id of an erased person a pass has kept out, and how many it has let in without that. */
function holderRemarks({ dataset, rowsCameAfter, rowsTrimmed }: PassReport): Remark[] {
  const remark = (count: number, what: string): Remark[] =>
    count === 0
      ? []
      : [{ detail: `${dataset}: ${countedText(count, 'row')} with a distinct id of an erased person ${what}` }];
  return [
    ...remark(rowsCameAfter, 'kept out: nothing shows that the person was there before the erasure'),
    ...remark(rowsTrimmed, 'let in without it: the person was known before the erasure'),
  ];
}

/** Which playlists were not told with all recordings when they were last asked for, and why. */
function untoldRemarks({ dataset, untold }: PassReport): Remark[] {
  if (dataset !== 'playlists' || untold.length === 0) return [];
  const named = untold.map(({ shortId, reason }) => `${shortId} (${untoldWords[reason]})`).join(', ');
  return [{ detail: `not all recordings were told of ${named}; an erasure cannot verify what it was not told` }];
}

/**
 * That the only page of a list shows fewer rows than it counts: one answer, of one moment, so the walk is not why. A row that is shown
 * twice does not stand for another: the page may hide that one.
 */
function countRemarks({ dataset, reason, seams, rowsDistinct, countReported }: PassReport): Remark[] {
  if (reason !== 'count_not_reached' || seams > 0 || countReported === null) return [];
  const shown = `one answer counts ${countText(countReported)} ${dataset} and shows ${countText(rowsDistinct)} different ones`;
  return [
    {
      detail: `${shown}: it hides some, or shows and counts one twice, so none that is missing is taken for deleted. If each pass ends so, ask those who run the service`,
    },
  ];
}

/** What is said of a full pass that was asked for without a first day and saw no row that is older than 30 days. */
export const defaultWindow = {
  detail:
    'no date_from is configured for recordings, and no older ones were shown: the service may show only its own default of days (3 on live services)',
  fix: 'in the configuration, set `recordings.query: {date_from: -30d}`',
} as const;

/** The largest moment of a pass of which no page showed all rows; null where each page began above the moment before it. */
export function largeMomentOf({
  momentRows,
  rowsDistinct,
  plan,
}: Pick<Pass, 'momentRows' | 'rowsDistinct' | 'plan'>): LargeMoment | null {
  if (momentRows === 0) return null;
  // Rows that come in another order at each answer are counted more than once.
  const rows = Math.min(momentRows, rowsDistinct);
  const { pageSize } = z.looseObject({ pageSize: z.int() }).parse(JSON.parse(plan));
  const wanted = pageSizeFor(rows);
  return { rows, pageSize: wanted > pageSize && wanted <= pageSizeMax ? wanted : null };
}

/** The least page size, in hundreds, at which a window shows so many rows of one moment. */
function pageSizeFor(rows: number): number {
  let pageSize = 100;
  while (pageSize <= pageSizeMax && momentRowsMax(widestRowsOf(pageSize)) < rows) pageSize += 100;
  return pageSize;
}

/** What is said of such a moment of a pass. `fix`: the setting that helps, undefined where the service serves too few rows at once. */
export function momentWords(
  { dataset, reason }: Pick<Pass, 'dataset' | 'reason'>,
  { rows, pageSize }: LargeMoment,
): Remark {
  const trust =
    reason === 'moment_too_large'
      ? 'nothing proves that the pass has seen all of these'
      : 'it is trusted that the service keeps the order of these';
  const detail = `${countText(rows)} ${dataset} are of one moment, more than one page shows: ${trust}`;
  return pageSize === null ? { detail } : { detail, fix: `set ${dataset}.pageSize: ${pageSize}` };
}

function isCountReached({ verdict, reason, countReported: count, rowsDistinct }: Pass): boolean | null {
  if (count === null) return null;
  if (reason === 'count_not_reached') return false;
  return verdict === 'complete' ? rowsDistinct >= count : null;
}

/** The rows that a full pass has seen, of those that the service counts, where these differ: `5 of 6`; else null. */
export function seenOfCount({
  mode,
  finishedAt,
  rowsDistinct,
  countReported,
}: Pick<Pass, 'mode' | 'finishedAt' | 'rowsDistinct' | 'countReported'>): string | null {
  if (mode === 'head' || finishedAt === null || countReported === null || rowsDistinct === countReported) return null;
  return `${countText(rowsDistinct)} of ${countText(countReported)}`;
}
