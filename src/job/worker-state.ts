import type { ScheduledJob } from '../config/settings.ts';
import type { Alert } from '../mirror/open-alerts.ts';
import type { ClockStanding } from './clock-standing.ts';
import type { RunOutcome } from '../mirror/runs.ts';

/** A scheduled job of a project, as the worker sees it now. Times are ISO 8601 UTC. */
export type JobState = {
  job: ScheduledJob;
  /** Its cron expression, in UTC. */
  cron: string;
  /** The time between the two ticks around now, in milliseconds. */
  periodMs: number;
  /** When it is to start: the next tick, or the end of a pause after a failure. Past when it is due. */
  nextAt: string;
  /** When its last run began; null before the first. */
  lastAt: string | null;
  /** How its last run ended: `running` while it runs, null before the first. */
  lastOutcome: RunOutcome | 'running' | null;
  /** A code, where the last run has one: an error's, or of what it found. */
  lastReason: string | null;
  /** When the last run began that left the data fresh: it ended `done` or `held`. */
  lastSuccessAt: string | null;
  /** The damage that the last run found, as a code, if that run did all it could; null where it found none. */
  lastFound: string | null;
  /** Since when it runs in this worker; null when it does not. */
  runningSince: string | null;
  /** The reason of its newest failure, and when the first of the runs in a row that failed for it began; null if none. */
  failing: { reason: string; since: string } | null;
  /** Runs in a row that failed or died, up to now. */
  consecutiveFailures: number;
  /** How often, since the worker started, a command held the data folder when it was to start. */
  timesBusy: number;
};

/** What a project's data folder says about itself, besides its runs. */
export type ProjectCondition = {
  /** Deletion plans that wait for approval, and erasure requests that are held. */
  heldPlans: number;
  heldRequests: number;
  /** Erasure requests that call for a person's attention, and open ones whose due date is past. */
  attentionRequests: number;
  overdueRequests: number;
  /** Free bytes of the disk that holds the data folder, and below how many that is low. */
  diskFreeBytes: number;
  diskFreeBytesMin: number;
  /** Bytes of the mirror's write-ahead log. */
  logBytes: number;
  isLedgerWritable: boolean;
  clock: ClockStanding;
};

/** A project of the worker. */
export type ProjectState = {
  name: string;
  /** The address of the service and the project there; null where they are not configured. */
  service: { baseUrl: string | null; projectId: string | null };
  dataDir: string;
  /** The code of the error with which its data folder last failed to open or to be read; null when all is well. */
  problem: string | null;
  jobs: readonly JobState[];
  /** Null until there is a data folder to read it from. */
  condition: ProjectCondition | null;
  alerts: readonly Alert[];
  /** Of a cluster: where the project is. */
  cluster?: ClusterStanding;
};

/** Where a project of a cluster is. */
export type ClusterStanding = {
  /** The machine that holds it; null where none does. */
  machine: string | null;
  isHere: boolean;
  isPaused: boolean;
  /** When the holder last spoke of it, in ISO 8601 UTC; null where none has. */
  at: string | null;
};

/** Whether this machine works on a project: always, but for projects of a cluster that it does not hold. */
export function isHere({ cluster }: Pick<ProjectState, 'cluster'>): boolean {
  return cluster?.isHere ?? true;
}

/** The state of the worker, for alerts and the status page. Holds no personal data and no secret. */
export type WorkerState = {
  startedAt: string;
  /** Whether it is stopping: it ends the jobs that run and starts no other. */
  isStopping: boolean;
  projects: readonly ProjectState[];
};
