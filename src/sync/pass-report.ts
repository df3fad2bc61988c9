import type { Pass } from '../mirror/passes.ts';

/** A pass as people and programs are shown it: its verdict, and the evidence for it. */
export type PassReport = {
  id: number;
  dataset: Pass['dataset'];
  mode: Pass['mode'];
  /** `running` while the pass goes on, `unfinished` where it was interrupted and the next pass continues it. */
  verdict: 'complete' | 'incomplete' | 'running' | 'unfinished';
  reason: string | null;
  startedAt: string;
  finishedAt: string | null;
  windows: number;
  seams: number;
  stepBacks: number;
  restarts: number;
  rounds: number;
  rowsReceived: number;
  /** Rows that the pass has seen, each once. 0 in passes of older versions of this program. */
  rowsDistinct: number;
  rowsAdded: number;
  rowsChanged: number;
  rowsQuarantined: number;
  /** Of people who were erased: kept out. */
  rowsFenced: number;
  countReported: number | null;
  /** `countReached`: whether the pass has seen as many rows as counted; null without a count or another end. */
  assumptions: { newestFirst: boolean; countReached: boolean | null; defaultWindow: boolean };
};

/** Reports a pass of the mirror. */
export function reportPass(pass: Pass): PassReport {
  return {
    id: pass.id,
    dataset: pass.dataset,
    mode: pass.mode,
    verdict: pass.verdict ?? 'running',
    reason: pass.reason,
    startedAt: pass.started_at,
    finishedAt: pass.finished_at,
    windows: pass.windows,
    seams: pass.seams,
    stepBacks: pass.step_backs,
    restarts: pass.restarts,
    rounds: pass.rounds,
    rowsReceived: pass.rows_received,
    rowsDistinct: pass.rows_distinct,
    rowsAdded: pass.rows_added,
    rowsChanged: pass.rows_changed,
    rowsQuarantined: pass.rows_quarantined,
    rowsFenced: pass.rows_fenced,
    countReported: pass.count_reported,
    assumptions: {
      newestFirst: pass.is_ordered,
      countReached: isCountReached(pass),
      defaultWindow: pass.is_default_window,
    },
  };
}

/** What is said of a full pass that was asked for without a first day and saw no row that is older than 30 days. */
export const defaultWindow = {
  detail:
    'no date_from is configured for recordings, and no older ones were shown: the service may show only its own default of days (3 on live services)',
  fix: 'set recordings.query: {date_from: -30d}',
} as const;

function isCountReached({ verdict, reason, count_reported: count }: Pass): boolean | null {
  if (count === null) return null;
  if (reason === 'count_not_reached') return false;
  return verdict === 'complete' ? true : null;
}
