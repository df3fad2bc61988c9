import { z } from 'zod';
import { isoTime, newestTime } from '../core/clock.ts';
import { isAgreed, isDatedAhead } from '../core/present.ts';
import { durationText, secondText } from '../core/words.ts';
import { readLedgerHead } from '../ledger/ledger-head.ts';
import { ledgerFolder } from '../ledger/entry-file.ts';
import type { Database } from '../mirror/database.ts';
import { hasAnsweredSince, newestRunTime } from '../mirror/runs.ts';
import { readServiceClock } from '../mirror/service-clock.ts';

/** How this machine's clock stands. Times are ISO 8601 UTC. */
export const ClockStanding = z.object({
  /** How far it was ahead of the service's, behind where below 0, and when that was seen; null where no answer has told a time. */
  aheadMs: z.number().nullable(),
  lookedAt: z.string().nullable(),
  /** What speaks against one of the two clocks, in words; null where nothing does. */
  problem: z.string().nullable(),
});
export type ClockStanding = z.infer<typeof ClockStanding>;

/** How this machine's clock stood against the service's when it was last asked, and against the newest time that was recorded here. */
export function readClockStanding(db: Database, dataDir: string, nowMs: number): ClockStanding {
  const { aheadMs = null, lookedAt = null, agreedAt = null } = readServiceClock(db) ?? {};
  const apart = untoldText(db, lookedAt) ?? (aheadMs === null ? null : apartText(aheadMs));
  const problem = apart ?? setBackText(isAgreed(aheadMs) ? agreedAt : recordedTime(db, dataDir), nowMs);
  return { aheadMs, lookedAt, problem };
}

/** That clocks are apart, in words; null where they agree. */
export function apartText(aheadMs: number): string | null {
  if (isAgreed(aheadMs)) return null;
  return `this machine's clock is ${durationText(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'} the service's`;
}

/** That the service has answered a whole run since it last told its time; null where it has not. */
function untoldText(db: Database, lookedAt: string | null): string | null {
  return hasAnsweredSince(db, lookedAt ?? '')
    ? 'no answer of the service tells its time: perhaps a proxy takes the header Date away'
    : null;
}

/** Before the clocks have agreed once, runs and ledger tell: one of their times may be of a clock that was ahead. */
function recordedTime(db: Database, dataDir: string): string | null {
  return newestTime([newestRunTime(db), readLedgerHead(ledgerFolder(dataDir))?.lastEntryAt]);
}

function setBackText(newest: string | null, nowMs: number): string | null {
  if (newest === null || !isDatedAhead(Date.parse(newest), nowMs)) return null;
  return `this machine's clock says ${secondText(isoTime(nowMs))}, earlier than ${secondText(newest)}, which was recorded here: it was set back, or was ahead then`;
}
