import { z } from 'zod';
import { PassEvidence } from '../mirror/passes.ts';

/** What is asked of a list at once. */
export const Window = z.strictObject({ offset: z.int(), limit: z.int() });
export type Window = z.infer<typeof Window>;

/** A seam is judged by the last rows of the accepted page: at least these, where it has so many. Fewer can only prevent a join. */
export const seamRowsMin = 100;

/** The page accepted last: its window, and its last rows with their sort times (microseconds as text), in list order. */
const AcceptedPage = z.strictObject({
  window: Window,
  rows: z.array(z.strictObject({ key: z.string(), time: z.string().nullable() })),
  isBarren: z.boolean(),
  /** How many rows with a readable key it showed, and whether the service said that nothing follows it. */
  shown: z.int(),
  isLast: z.boolean(),
  /** How many rows the walk has seen of the moment in which the page ends. */
  momentRows: z.int(),
  /** Whether that moment has more rows than a window: then the next page begins in it. */
  isWithinMoment: z.boolean(),
});
export type AcceptedPage = z.infer<typeof AcceptedPage>;

/** Where a walk stands. Plain JSON, so that a stopped walk can be taken up again with its proof intact. */
export const WalkState = z.strictObject({
  window: Window,
  /** Rows asked for where nothing speaks against it: the plan's page, or what the service serves or bears. */
  limit: z.int(),
  /** The most that the service serves at once, once it has said that; else null. */
  cap: z.int().nullable(),
  /** Rows of the longest page so far, where its length is all that tells how many are served; else null. */
  longest: z.int().nullable(),
  previous: AcceptedPage.nullable(),
  /** The window whose page first could not be joined to the page accepted last; null when none has failed to. */
  apart: Window.nullable(),
  /** How far the next step back goes. */
  stepBackRows: z.int(),
  /** Whether the walk has given up on this seam, or on looking for seams at all: then it takes pages as they are. */
  hasGivenUp: z.enum(['no', 'this seam', 'for good']),
  hasGap: z.boolean(),
  /** How far down the walk has come, and how many windows ago. */
  frontier: z.strictObject({ offset: z.int(), windowsAgo: z.int() }),
  /** How many windows in a row have not led further down the list. */
  stalls: z.int(),
  /** How many windows ago the walk saw a row that was new to the pass. */
  standstill: z.int(),
  /** Rows that this round has seen first in this pass. In a list that is newest first, those added at its top do not count. */
  newRows: z.int(),
  /** The newest time that the pass has seen (microseconds as text). */
  newest: z.string().nullable(),
  /** The oldest time that the pass has seen, as the list shows it. */
  oldest: z.string().nullable(),
  /** How many rows of one moment were seen elsewhere than a service shows them that keeps their order. */
  strays: z.int(),
  evidence: PassEvidence,
});
export type WalkState = z.infer<typeof WalkState>;

/** A state from its JSON text; undefined when another version of this program wrote it. */
export function parseWalkState(text: string): WalkState | undefined {
  return WalkState.safeParse(JSON.parse(text)).data;
}
