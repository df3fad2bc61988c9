import type { IncompleteReason, PassEvidence } from '../mirror/passes.ts';
import type { PageOutcome } from '../mirror/page.ts';
import type { Page } from './page.ts';
import { judgePage, type WalkPlan, type WalkState, type Window } from './walk-plan.ts';

/** How far a walk has come. */
export type WalkProgress = { rowsReceived: number; countReported: number | null };

/** What a walk needs from outside. */
export type WalkParts = {
  plan: WalkPlan;
  fetchPage: (window: Window) => Promise<Page>;
  /** Commits a page with the walk's state after it, in one transaction. */
  commitPage: (page: Page, state: WalkState, evidence: PassEvidence) => PageOutcome;
  /** Ends the walk after so many rows in a row that were known and unchanged; null walks to the end. */
  unchangedRowsMax: number | null;
  onProgress: (progress: WalkProgress) => void;
  signal: AbortSignal;
};

/**
 * Walks a list from the given state to its end, page by page. Returns the reason why the walk is not complete, or
 * null when it is. A page that does not join is committed too: its rows are real, and the walk goes back for the rest.
 * Rejects with the signal's reason when stopped; what was committed stays, and the walk can be taken up again.
 */
export async function walk(parts: WalkParts, from: WalkState): Promise<IncompleteReason | null> {
  let state = from;
  let rowsReceived = 0;
  let unchangedRun = 0;
  for (;;) {
    parts.signal.throwIfAborted();
    const page = await parts.fetchPage(state.window);
    const step = judgePage(parts.plan, state, page.view);
    state = step.state;
    const outcome = parts.commitPage(page, state, state.evidence);
    rowsReceived += outcome.received;
    parts.onProgress({ rowsReceived, countReported: state.evidence.countReported });
    if (step.next === 'end') return step.reason;
    unchangedRun =
      outcome.unchangedRun === page.rows.length ? unchangedRun + outcome.unchangedRun : outcome.unchangedRun;
    if (parts.unchangedRowsMax !== null && unchangedRun >= parts.unchangedRowsMax) return 'head';
  }
}
