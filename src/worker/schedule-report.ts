import { compileCron } from '../config/cron.ts';
import type { ScheduledJob, Settings } from '../config/settings.ts';
import { isoTime } from '../core/clock.ts';
import type { Database } from '../mirror/database.ts';
import { listRunsOfJob, newestSuccess } from '../mirror/runs.ts';
import { historyOf, runsLookedAt, nextStartMs } from './schedule-plan.ts';

/** A scheduled job, as the worker would see it. Times are ISO 8601 UTC; a past `nextAt` means that the job is due. */
export type ScheduleReport = {
  job: ScheduledJob;
  cron: string;
  nextAt: string;
  lastAt: string | null;
  lastOutcome: string | null;
};

/** When each scheduled job is to run next, and when it last did, at a time in milliseconds since 1970. */
export function reportSchedule(db: Database, schedule: Settings['schedule'], nowMs: number): ScheduleReport[] {
  return Object.entries(schedule).flatMap(([name, cron]): ScheduleReport[] => {
    if (cron === null) return [];
    const job = name as ScheduledJob;
    const history = historyOf(listRunsOfJob(db, job, runsLookedAt), newestSuccess(db, job));
    return [
      {
        job,
        cron,
        nextAt: isoTime(nextStartMs(history, compileCron(cron), nowMs)),
        lastAt: history.lastStartMs === null ? null : isoTime(history.lastStartMs),
        lastOutcome: history.lastOutcome,
      },
    ];
  });
}
