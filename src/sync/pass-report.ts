import type { Pass } from '../mirror/passes.ts';

/** A pass as people and programs are shown it: its verdict, and the evidence for it. */
export type PassReport = Omit<Pass, 'verdict' | 'plan' | 'isOrdered' | 'isDefaultWindow' | 'cursor'> & {
  /** `running` while the pass goes on, `unfinished` where it was interrupted and the next pass continues it. */
  verdict: 'complete' | 'incomplete' | 'running' | 'unfinished';
  /** `countReached`: whether the pass has seen as many rows as counted; null without a count or another end. */
  assumptions: { newestFirst: boolean; countReached: boolean | null; defaultWindow: boolean };
};

/** Reports a pass of the mirror. */
export function reportPass(pass: Pass): PassReport {
  const { plan: _plan, cursor: _cursor, isOrdered, isDefaultWindow, ...shown } = pass;
  return {
    ...shown,
    verdict: pass.verdict ?? 'running',
    assumptions: { newestFirst: isOrdered, countReached: isCountReached(pass), defaultWindow: isDefaultWindow },
  };
}

/** What is said of a full pass that was asked for without a first day and saw no row that is older than 30 days. */
export const defaultWindow = {
  detail:
    'no date_from is configured for recordings, and no older ones were shown: the service may show only its own default of days (3 on live services)',
  fix: 'set recordings.query: {date_from: -30d}',
} as const;

function isCountReached({ verdict, reason, countReported: count }: Pass): boolean | null {
  if (count === null) return null;
  if (reason === 'count_not_reached') return false;
  return verdict === 'complete' ? true : null;
}
