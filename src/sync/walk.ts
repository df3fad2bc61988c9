import { AppError } from '../core/errors.ts';
import type { PageOutcome } from '../mirror/write-rows.ts';
import type { IncompleteReason } from '../mirror/passes.ts';
import type { Page } from './page.ts';
import type { WalkStep } from './walk-plan.ts';
import { shrinkWindow, windowsAhead, type WalkPlan } from './walk-windows.ts';
import type { WalkState, Window } from './walk-state.ts';

/** What a page changed in the mirror, and what follows from it for the walk. */
export type TakenPage = { outcome: PageOutcome; step: WalkStep };

/** What a walk needs from outside. */
export type WalkParts = {
  plan: WalkPlan;
  /** How many pages may be asked for ahead of the page that is being written. */
  inFlightMax: number;
  fetchPage: (window: Window, signal: AbortSignal) => Promise<Page>;
  /** Takes the page of the state's window: writes its rows, and judges what follows from it. */
  takePage: (page: Page, state: WalkState) => TakenPage;
  /** Ends the walk after so many rows in a row that were known and unchanged; null walks to the end. */
  unchangedRowsMax: number | null;
  /** Hears how many rows the walk has received, and of how many the service says. */
  onProgress: (rowsDistinct: number, countReported: number | null) => void;
  signal: AbortSignal;
};

type Flight = { window: Window; page: Promise<Page>; abort: AbortController };

/**
 * Walks a list from the given state to its end: the next pages are fetched while a page is written, and pages are
 * taken in list order. Returns the reason why the walk is not complete, or null when it is. A page that does not join is
 * committed too: its rows are real, and the walk goes back for the rest. Rejects with the signal's reason when stopped; what was
 * committed stays, and the walk can be taken up again.
 */
export async function walk(parts: WalkParts, from: WalkState): Promise<IncompleteReason | null> {
  const { plan, inFlightMax, takePage, unchangedRowsMax, onProgress, signal } = parts;
  let state = from;
  let flights: Flight[] = [];
  let unchangedRun = 0;
  try {
    for (;;) {
      signal.throwIfAborted();
      flights = redirect(parts, flights, windowsAhead(plan, state, inFlightMax));
      const page = await flights[0]?.page.catch((error: unknown) => {
        const smaller = mayBeTooMuch(error, state.window) ? shrinkWindow(plan, state) : undefined;
        if (!smaller) throw error;
        state = smaller;
      });
      if (!page) continue;
      flights.shift();
      const { outcome, step } = takePage(page, state);
      state = step.state;
      onProgress(state.evidence.rowsDistinct, state.evidence.countReported);
      if (step.next === 'end') return step.reason;
      unchangedRun =
        outcome.unchangedRun === page.rows.length ? unchangedRun + outcome.unchangedRun : outcome.unchangedRun;
      if (unchangedRowsMax !== null && unchangedRun >= unchangedRowsMax) return 'head';
    }
  } finally {
    redirect(parts, flights, []);
  }
}

/**
 * Keeps the flights that are still wanted, in their order, drops the others, and adds what is missing. A window is asked
 * for only when the answer to the window before it has come: a row that moves down the list between two answers in the
 * other order would be on neither page.
 */
function redirect({ fetchPage, signal }: WalkParts, flights: readonly Flight[], wanted: readonly Window[]): Flight[] {
  const isWanted = ({ window }: Flight, index: number): boolean =>
    window.offset === wanted[index]?.offset && window.limit === wanted[index].limit;
  const firstStray = flights.findIndex((flight, index) => !isWanted(flight, index));
  const kept = firstStray === -1 ? [...flights] : flights.slice(0, firstStray);
  for (const { abort } of flights.slice(kept.length)) abort.abort();
  const flown = [...kept];
  for (const window of wanted.slice(kept.length)) {
    const abort = new AbortController();
    const stop = AbortSignal.any([signal, abort.signal]);
    const before = flown.at(-1)?.page;
    const page = before ? before.then(() => fetchPage(window, stop)) : fetchPage(window, stop);
    // The reader of a page gets its failure. A page that is dropped has no reader.
    page.catch(() => undefined);
    flown.push({ window, page, abort });
  }
  return flown;
}

/** Whether asking for fewer rows may help: the answer was too large, or the service fails far down the list. */
function mayBeTooMuch(error: unknown, { offset }: Window): boolean {
  if (!(error instanceof AppError)) return false;
  return error.code === 'oversize' || (offset > 0 && error.status !== undefined && error.status >= 500);
}
