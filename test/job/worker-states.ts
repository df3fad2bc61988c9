import type { JobState, ProjectCondition } from '../../src/job/worker-state.ts';

/** A job of every night that has not run yet. */
export const newJob: JobState = {
  job: 'full',
  cron: '0 2 * * *',
  periodMs: 86_400_000,
  nextAt: '2026-01-01T02:00:00.000Z',
  lastAt: null,
  lastOutcome: null,
  lastReason: null,
  lastSuccessAt: null,
  lastFound: null,
  runningSince: null,
  failing: null,
  consecutiveFailures: 0,
  timesBusy: 0,
};

/** A data folder in which nothing calls for a person. */
export const calm: ProjectCondition = {
  heldPlans: 0,
  heldRequests: 0,
  attentionRequests: 0,
  givenUpRequests: 0,
  uncalledSenders: 0,
  overdueRequests: 0,
  overdueAccess: 0,
  bucketsBehind: 0,
  newProperties: 0,
  diskFreeBytes: 5e9,
  diskFreeBytesMin: 1e9,
  logBytes: 0,
  isLedgerWritable: true,
  clock: { aheadMs: 0, lookedAt: null, problem: null },
};
