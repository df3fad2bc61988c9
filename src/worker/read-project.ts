import { existsSync } from 'node:fs';
import { compileCron } from '../config/cron.ts';
import { propertyOf, scheduleOf, type ScheduledJob, type Settings } from '../config/settings.ts';
import { isoTime } from '../core/clock.ts';
import { codeText, minuteText } from '../core/words.ts';
import { freeBytesAt, isWritable } from '../core/folder.ts';
import { isGivenUp } from '../erasure/request/life-plan.ts';
import { readClockStanding } from '../job/clock-standing.ts';
import { runsUnderWay } from '../job/lease.ts';
import { causeOf, listJobs } from '../job/service-cause.ts';
import { countUncalled } from '../job/told-senders.ts';
import type { JobState, ProjectCondition, ProjectState } from '../job/worker-state.ts';
import { entriesPath, ledgerFolder } from '../ledger/entry-file.ts';
import type { Database } from '../mirror/database.ts';
import { readStandings } from '../mirror/destinations.ts';
import { isOverdue, listEnded, listRequests, needsOperator, type ErasureRequest } from '../mirror/erasure-requests.ts';
import { listTargets } from '../mirror/erasure-targets.ts';
import { readLogBytes } from '../mirror/log-size.ts';
import { readOpenAlerts, type Alert } from '../mirror/open-alerts.ts';
import { countNewProperties } from '../mirror/properties.ts';
import { countLost, listRunsOfJob, newestSettled, newestSuccess } from '../mirror/runs.ts';
import { listHeldPlans } from '../mirror/suspects.ts';
import { alertOf, alertsOf } from './alerts.ts';
import { historyOf, jobStateOf, runsLookedAt, type JobHistory } from './schedule-plan.ts';

/** A property is new, and a request just given up, for so many days. */
const newDays = 7;
const dayMs = 86_400_000;
/** A sender that is not called back for so long needs somebody. */
const uncalledMs = 3_600_000;

/** The history of a job in the mirror, at a time in milliseconds since 1970. */
export function readJobHistory(db: Database, job: ScheduledJob, nowMs: number): JobHistory {
  const runs = listRunsOfJob(db, job, runsLookedAt, runsUnderWay(db, nowMs));
  return historyOf(runs, newestSuccess(db, job), newestSettled(db, job));
}

/**
 * The state of a project by its data folder, as a worker that starts at this time (milliseconds since 1970) would see it. Throws
 * the system's error when the folder cannot be read.
 */
export function readProjectState(
  db: Database,
  { name, settings, keyFrom }: { name: string; settings: Settings; keyFrom: string },
  nowMs: number,
): ProjectState & { condition: ProjectCondition } {
  const { service, dataDir } = settings;
  const state = {
    name,
    service: { baseUrl: service.baseUrl, projectId: service.projectId, keyFrom },
    dataDir,
    problem: null,
    jobs: readJobStates(db, settings, nowMs),
    condition: readProjectCondition(db, { name, ...settings }, nowMs),
  };
  const standing = readOpenAlerts(db);
  const known = alertsOf(state, { nowMs, startedAtMs: nowMs, detail: null, standing });
  const alerts = [
    ...known,
    ...failedSync(db, state.jobs, nowMs).filter(({ kind }) => known.every((one) => one.kind !== kind)),
  ];
  // Perhaps nobody follows the schedule here, so a job is late only where a worker has said so.
  const isSaid = ({ kind, job }: Alert): boolean => standing.some((one) => one.kind === kind && one.job === job);
  return { ...state, alerts: alerts.filter((alert) => alert.kind !== 'stale' || isSaid(alert)) };
}

/** Tells of a last `sync` that has failed: perhaps cron runs it, and no worker. A list that a job has read since is newer. */
function failedSync(db: Database, jobs: readonly JobState[], nowMs: number): Alert[] {
  const runs = listRunsOfJob(db, 'sync', runsLookedAt, runsUnderWay(db, nowMs));
  const { failing } = historyOf(runs, newestSuccess(db, 'sync'));
  // One that died is begun again: the machine may have gone down.
  if (failing === null || failing.reason === 'died') return [];
  const since = isoTime(failing.sinceMs);
  if (jobs.some(({ job, lastSuccessAt }) => listJobs.includes(job) && (lastSuccessAt ?? '') > since)) return [];
  const cause = causeOf(failing.reason, 'sync');
  return [
    cause
      ? alertOf(cause.kind, `${cause.message} since ${minuteText(since)}: sync`)
      : alertOf('failing', `sync fails since ${minuteText(since)} (${codeText(failing.reason)})`),
  ];
}

function readJobStates(db: Database, settings: Settings, nowMs: number): JobState[] {
  return Object.entries(scheduleOf(settings)).flatMap(([name, cron]): JobState[] => {
    if (cron === null) return [];
    const job = name as ScheduledJob;
    const state = jobStateOf(job, { cron, ticks: compileCron(cron) }, readJobHistory(db, job, nowMs), nowMs);
    return [{ ...state, timesBusy: 0 }];
  });
}

/** Reads the condition of a project from its data folder. Throws the system's error when that fails. */
export function readProjectCondition(
  db: Database,
  {
    name,
    dataDir,
    alerts,
    erasure,
    intake,
    export: { properties, promote, mask },
  }: Pick<Settings, 'dataDir' | 'alerts' | 'erasure' | 'export' | 'intake'> & { name: string },
  nowMs: number,
): ProjectCondition {
  const open = listRequests(db, 'open');
  const now = isoTime(nowMs);
  const lately = isoTime(nowMs - newDays * dayMs);
  const countOverdue = (requests: readonly ErasureRequest[]): number =>
    requests.filter((request) => request.certifiedAt === null && isOverdue(request, now)).length;
  return {
    heldPlans: listHeldPlans(db).length,
    heldRequests: open.filter(({ state }) => state === 'held').length,
    attentionRequests: open.filter(needsOperator).length,
    overdueRequests: countOverdue(open),
    givenUpRequests:
      countLost(db, lately) +
      listEnded(db, lately).filter((request) =>
        isGivenUp(request, () => listTargets(db, request.id), erasure.maxRequestDays),
      ).length,
    overdueAccess: countOverdue(listRequests(db, 'open', 'access')),
    uncalledSenders: countUncalled({ name, dataDir, intake }, isoTime(nowMs - uncalledMs)),
    bucketsBehind: readStandings(db).filter(({ cause }) => cause !== null).length,
    newProperties: properties === 'listed' ? countNewProperties(db, lately, [...promote, ...mask].map(propertyOf)) : 0,
    diskFreeBytes: freeBytesAt(dataDir),
    diskFreeBytesMin: alerts.diskFreeBytesMin,
    logBytes: readLogBytes(dataDir),
    isLedgerWritable: isLedgerWritable(dataDir),
    clock: readClockStanding(db, dataDir, nowMs),
  };
}

/** Whether the ledger can grow: its file or folder may be written, or its folder may be made. */
function isLedgerWritable(dataDir: string): boolean {
  const folder = ledgerFolder(dataDir);
  const path = [entriesPath(folder), folder].find((place) => existsSync(place)) ?? dataDir;
  return isWritable(path);
}
