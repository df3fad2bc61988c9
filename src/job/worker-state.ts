import { z } from 'zod';
import { scheduledJobs } from '../config/settings.ts';
import { Alert } from '../mirror/open-alerts.ts';
import { runOutcomes } from '../mirror/runs.ts';
import { ClockStanding } from './clock-standing.ts';

/** A scheduled job of a project, as the worker sees it now. Times are ISO 8601 UTC. */
export const JobState = z.object({
  job: z.enum(scheduledJobs),
  /** Its cron expression, in UTC. */
  cron: z.string(),
  /** The time between the two ticks around now, in milliseconds. */
  periodMs: z.number(),
  /** When it is to start: the next tick, or the end of a pause after a failure. Past when it is due. */
  nextAt: z.string(),
  /** When its last run began; null before the first. */
  lastAt: z.string().nullable(),
  /** How its last run ended: `running` while it runs, null before the first. */
  lastOutcome: z.enum([...runOutcomes, 'running']).nullable(),
  /** A code, where the last run has one: an error's, or of what it found. */
  lastReason: z.string().nullable(),
  /** When the last run began that left the data fresh: it ended `done` or `held`. */
  lastSuccessAt: z.string().nullable(),
  /** The damage that the last run found, as a code, if that run did all it could; null where it found none. */
  lastFound: z.string().nullable(),
  /** Since when it runs in this worker; null when it does not. */
  runningSince: z.string().nullable(),
  /** The reason of its newest failure, and when the first of the runs in a row that failed for it began; null if none. */
  failing: z.object({ reason: z.string(), since: z.string() }).nullable(),
  /** Runs in a row that failed or died, up to now. */
  consecutiveFailures: z.number(),
  /** How often, since the worker started, a command held the data folder when it was to start. */
  timesBusy: z.number(),
});
export type JobState = z.infer<typeof JobState>;

/** What a project's data folder says about itself, besides its runs. */
export const ProjectCondition = z.object({
  /** Deletion plans that wait for approval, and erasure requests that are held. */
  heldPlans: z.number(),
  heldRequests: z.number(),
  /** Erasure requests that call for a person's attention, and open ones that are overdue. */
  attentionRequests: z.number(),
  overdueRequests: z.number(),
  /** Erasure requests that have ended in the last days by their age, with something that was not reached or not proved, or since they were lost. */
  givenUpRequests: z.number(),
  /** Open requests for access that are overdue. */
  overdueAccess: z.number(),
  /** Senders to the intake that have not been called back for long. */
  uncalledSenders: z.number(),
  /** Places outside that may hold other files than the folder, for a known cause. */
  bucketsBehind: z.number(),
  /** Properties that appeared in the last days and are not published, since nobody has listed them. */
  newProperties: z.number(),
  /** Free bytes of the disk that holds the data folder, and below how many that is low. */
  diskFreeBytes: z.number(),
  diskFreeBytesMin: z.number(),
  /** Bytes of the mirror's write-ahead log. */
  logBytes: z.number(),
  isLedgerWritable: z.boolean(),
  clock: ClockStanding,
});
export type ProjectCondition = z.infer<typeof ProjectCondition>;

/** Where a project of several machines is. */
export const Whereabouts = z.object({
  /** The machine that holds it; null where none does. */
  machine: z.string().nullable(),
  isHere: z.boolean(),
  isPaused: z.boolean(),
  /** When the holder last spoke of it, in ISO 8601 UTC; null where none has. */
  at: z.string().nullable(),
});
export type Whereabouts = z.infer<typeof Whereabouts>;

/** A project of the worker. Machines tell it each other. */
export const ProjectState = z.object({
  name: z.string(),
  /** The address of the service and the project there; null where they are not configured. `keyFrom`: where the key comes from, in words. */
  service: z.object({ baseUrl: z.string().nullable(), projectId: z.string().nullable(), keyFrom: z.string() }),
  dataDir: z.string(),
  /** The code of the error with which its data folder last failed to open or to be read; null when all is well. */
  problem: z.string().nullable(),
  jobs: z.array(JobState).readonly(),
  /** Null until there is a data folder to read it from. */
  condition: ProjectCondition.nullable(),
  alerts: z.array(Alert).readonly(),
  /** Where the project is, if several machines share it. */
  cluster: Whereabouts.optional(),
});
export type ProjectState = z.infer<typeof ProjectState>;

/** Whether this machine works on a project: always, but for shared projects that it does not hold. */
export function isHere({ cluster }: Pick<ProjectState, 'cluster'>): boolean {
  return cluster?.isHere ?? true;
}

/** The state of the worker, for alerts and the status page. Holds no personal data and no secret. */
export type WorkerState = { startedAt: string; projects: readonly ProjectState[] };
