import type { Pass } from '../mirror/passes.ts';

/** A pass as people and programs are shown it: its verdict, and the evidence for it. */
export type PassReport = {
  id: number;
  dataset: Pass['dataset'];
  mode: Pass['mode'];
  /** `running` while the pass is unfinished. */
  verdict: 'complete' | 'incomplete' | 'running';
  reason: string | null;
  startedAt: string;
  finishedAt: string | null;
  windows: number;
  seams: number;
  stepBacks: number;
  restarts: number;
  rounds: number;
  rowsReceived: number;
  rowsAdded: number;
  rowsChanged: number;
  rowsQuarantined: number;
  /** Of people who were erased: kept out. */
  rowsFenced: number;
  countReported: number | null;
  /**
   * What the verdict rests on. `countReached`: whether the list ended with about as many rows as the service counted; null
   * where it gave no count or the pass is not complete. Where not, the end that the service told may not be one.
   */
  assumptions: { newestFirst: boolean; countReached: boolean | null };
};

/** A count may be above the rows shown by this share, or this many: people come and go while the list is read. */
const countSlack = { share: 0.05, rows: 5 };

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
    rowsAdded: pass.rows_added,
    rowsChanged: pass.rows_changed,
    rowsQuarantined: pass.rows_quarantined,
    rowsFenced: pass.rows_fenced,
    countReported: pass.count_reported,
    assumptions: { newestFirst: pass.is_ordered, countReached: isCountReached(pass) },
  };
}

// A warning and no verdict: some services estimate their counts, or count rows that their list does not show.
function isCountReached({ verdict, count_reported, rows_received, rounds }: Pass): boolean | null {
  if (verdict !== 'complete' || count_reported === null) return null;
  // Rows that two pages share count twice, so that this may miss a shortfall, but never makes one up.
  const missing = count_reported - rows_received / rounds;
  return missing <= Math.max(countSlack.rows, count_reported * countSlack.share);
}
