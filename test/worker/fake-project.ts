import type { ScheduledJob } from '../../src/config/settings.ts';
import { isoTime, type Clock } from '../../src/core/clock.ts';
import { AppError } from '../../src/core/errors.ts';
import type { Run, RunOutcome } from '../../src/mirror/runs.ts';
import { historyOf, runsLookedAt } from '../../src/worker/schedule-plan.ts';
import type { WorkerProject } from '../../src/worker/project-runner.ts';
import type { ProjectCondition } from '../../src/job/worker-state.ts';
import type { Alert } from '../../src/mirror/open-alerts.ts';
import { calm } from '../job/worker-states.ts';

/** A project whose jobs only take their time, and whose records are kept in memory, as a data folder would keep them. */
export type FakeProject = WorkerProject & { runs: Run[]; condition: ProjectCondition };

/** What a fake job does: how it ends, after how long. What it throws before it waits is not recorded. */
export type FakeJob = (job: ScheduledJob) => { ms: number; ends?: RunOutcome | AppError; deaf?: boolean };

/** More than a week of hourly failures, so that the last success is among them. */
const runsKept = 250;

/** Makes a project. Its jobs take a second and end well, unless `work` says otherwise. */
export function fakeProject(
  clock: Clock,
  schedule: WorkerProject['schedule'],
  { name = 'shop', work = () => ({ ms: 1000 }) }: { name?: string; work?: FakeJob } = {},
): FakeProject {
  const runs: Run[] = [];
  let alerts: readonly Alert[] = [];
  const byJob = new Map<ScheduledJob, Run[]>();
  const condition: ProjectCondition = { ...calm };
  return {
    name,
    service: { baseUrl: null, projectId: null, keyFrom: '' },
    dataDir: `/${name}`,
    schedule,
    runs,
    condition,
    givesWay: () => false,
    run: async (job, signal) => {
      const { ms, ends = 'done', deaf = false } = work(job);
      const run = startRun(runs, job, clock);
      byJob.set(job, [...(byJob.get(job) ?? []).slice(-runsKept), run]);
      const finish = (outcome: RunOutcome, reason: string | null): void => {
        Object.assign(run, { outcome, reason, finishedAt: isoTime(clock.now()) });
      };
      try {
        await clock.sleep(ms, deaf ? undefined : signal);
        if (ends instanceof AppError) throw ends;
        finish(ends, null);
      } catch (error) {
        const { code } = error as AppError;
        finish(code === 'interrupted' ? 'interrupted' : 'failed', code);
        throw error;
      }
    },
    readHistory: (job) => {
      const ofJob = (byJob.get(job) ?? []).toReversed();
      const success = ofJob.find(({ outcome }) => outcome === 'done' || outcome === 'held');
      return historyOf(ofJob.slice(0, runsLookedAt), success);
    },
    readCondition: () => ({ ...condition }),
    readAlerts: () => alerts,
    keepAlerts: (kept) => {
      alerts = kept;
    },
  };
}

function startRun(runs: Run[], job: ScheduledJob, clock: Clock): Run {
  const died = runs.at(-1);
  if (died?.outcome === null)
    Object.assign(died, { outcome: 'interrupted', reason: 'died', finishedAt: isoTime(clock.now()) });
  const run: Run = {
    id: runs.length + 1,
    job,
    startedAt: isoTime(clock.now()),
    finishedAt: null,
    outcome: null,
    reason: null,
    requests: 0,
    counts: null,
  };
  runs.push(run);
  return run;
}
