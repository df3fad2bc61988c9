import { compileCron } from '../config/cron.ts';
import { scheduleOf, type ScheduledJob, type Settings } from '../config/settings.ts';
import { isoTime } from '../core/clock.ts';
import type { Database } from '../mirror/database.ts';
import { runsUnderWay } from '../job/lease.ts';
import { listRunsOfJob, newestSuccess } from '../mirror/runs.ts';
import { historyOf, nextStartMs, runsLookedAt, type JobHistory } from './schedule-plan.ts';

/** A scheduled job, as the worker would see it. Times are ISO 8601 UTC; `nextAt` is now where the job is due, and never past. */
export type ScheduleReport = {
  job: ScheduledJob;
  cron: string;
  nextAt: string;
  lastAt: string | null;
  lastOutcome: string | null;
};

/** The history of a job in the mirror, at a time in milliseconds since 1970. */
export function readJobHistory(db: Database, job: ScheduledJob, nowMs: number): JobHistory {
  return historyOf(listRunsOfJob(db, job, runsLookedAt, runsUnderWay(db, nowMs)), newestSuccess(db, job));
}

/** When each scheduled job is to run next, and when it last did, at a time in milliseconds since 1970. */
export function reportSchedule(
  db: Database,
  settings: Pick<Settings, 'schedule' | 'playlists' | 'audit'>,
  nowMs: number,
): ScheduleReport[] {
  return Object.entries(scheduleOf(settings)).flatMap(([name, cron]): ScheduleReport[] => {
    if (cron === null) return [];
    const job = name as ScheduledJob;
    const history = readJobHistory(db, job, nowMs);
    return [
      {
        job,
        cron,
        nextAt: isoTime(Math.max(nowMs, nextStartMs(history, compileCron(cron), nowMs))),
        lastAt: history.lastStartMs === null ? null : isoTime(history.lastStartMs),
        lastOutcome: history.lastOutcome,
      },
    ];
  });
}
