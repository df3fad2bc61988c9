import type { Service } from '../client/service.ts';
import type { Clock } from '../core/clock.ts';
import { presentOf } from '../core/present.ts';
import { clockFix } from '../config/alert-kinds.ts';
import { apartText, readClockStanding } from '../job/clock-standing.ts';
import type { Database } from '../mirror/database.ts';
import type { Found } from './check.ts';

/** What the check of the clock works with. */
export type ClockCheck = {
  settings: { dataDir: string };
  openService: () => Service;
  clock: Clock;
  /** Whether the service has answered another check. */
  isAnswering: boolean;
  db: Database | null;
};

/** Compares this machine's clock with the service's, as other checks have heard it, or else with the times recorded here. */
export function checkClock({ settings, openService, clock, isAnswering, db }: ClockCheck): Found {
  const { aheadMs } = presentOf({ clock, service: isAnswering ? openService() : null });
  const problem =
    aheadMs === null ? db && readClockStanding(db, settings.dataDir, clock.now()).problem : apartText(aheadMs);
  if (problem !== null) return { state: 'warning', detail: problem, fix: clockFix };
  if (aheadMs !== null) return "this machine's clock and the service's agree";
  return {
    state: 'skipped',
    detail: 'no answer of the service has told its time: until one does, no request ends by its age',
  };
}
