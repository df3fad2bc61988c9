import type { AlertKind } from '../config/alert-kinds.ts';
import type { ScheduledJob } from '../config/settings.ts';
import type { RunOutcome } from '../mirror/runs.ts';

/** Something that calls for somebody. Holds no personal data. */
export type Alert = {
  kind: AlertKind;
  /** Which job is stale or failing; null for what is about the whole project. */
  job: ScheduledJob | null;
  /** What is so, without a full stop. */
  message: string;
  /** What to do about it; commands stand between backticks. */
  todo: string;
};

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
  /** How its last run ended; `running` while it runs, null before the first. */
  lastOutcome: RunOutcome | 'running' | null;
  /** A code, where the last run has one: an error's, or of what it found. */
  lastReason: string | null;
  /** When the last run began that left the data fresh: one that ended `done` or `held`, and never an errored one. */
  lastSuccessAt: string | null;
  /** What the last run that did all it could found that has to be mended, as a code; null where it found nothing. */
  lastFound: string | null;
  /** Since when it runs in this worker; null when it does not. */
  runningSince: string | null;
  /** Runs in a row that failed or died, up to now. */
  consecutiveFailures: number;
  /** How often, since the worker started, a command held the data folder when it was to start. */
  timesBusy: number;
};

/** What a project's data folder says about itself, besides its runs. */
export type ProjectCondition = {
  /** Plans of deletions that wait for approval, and requests that are held. */
  heldPlans: number;
  heldRequests: number;
  /** Requests that call for a person's attention, and open ones whose due date is past. */
  attentionRequests: number;
  overdueRequests: number;
  /** Free bytes of the disk that holds the data folder, and below how many that is low. */
  diskFreeBytes: number;
  diskFreeBytesMin: number;
  isLedgerWritable: boolean;
};

/** A project of the worker. */
export type ProjectState = {
  name: string;
  dataDir: string;
  /** Why its data folder could not be opened or read when that was last tried: an error's code. Null when all is well. */
  problem: string | null;
  jobs: readonly JobState[];
  /** Null as long as there is nothing to read it from. */
  condition: ProjectCondition | null;
  alerts: readonly Alert[];
};

/** The worker, to be looked at. Holds no personal data and no secret. */
export type WorkerState = {
  startedAt: string;
  /** Whether it has been told to stop, and only ends what it has begun. */
  isStopping: boolean;
  projects: readonly ProjectState[];
};
