import type { App } from '../app.ts';
import { readOpenAlerts, replaceOpenAlerts } from '../mirror/open-alerts.ts';
import { listRunsOfJob, newestSuccess } from '../mirror/runs.ts';
import { historyOf, runsLookedAt } from '../worker/job-history.ts';
import { readProjectCondition } from '../worker/project-condition.ts';
import type { WorkerProject } from '../worker/project-runner.ts';
import { runScheduledJob } from '../worker/scheduled-jobs.ts';
import { holdDrill } from './drill.ts';

/** A project of the worker, made of the program's parts. Throws `usage` where its service is not configured. */
export function workerProject(app: App): WorkerProject {
  const { name, settings, clock } = app;
  // First: a project without a service is refused before any work begins.
  app.service();
  return {
    name,
    dataDir: settings.dataDir,
    // A pass over no playlist would say nothing.
    schedule:
      settings.playlists.shortIds.length > 0 ? settings.schedule : { ...settings.schedule, playlists: null },
    run: (job, signal) =>
      runScheduledJob(job, app.serviceContext(signal), (folder, drillSignal) =>
        holdDrill(folder, { isTerminal: false, signal: drillSignal }),
      ),
    readHistory: (job) => {
      const db = app.database();
      return historyOf(listRunsOfJob(db, job, runsLookedAt), newestSuccess(db, job));
    },
    readCondition: () => readProjectCondition(app.database(), settings, clock),
    readAlerts: () => readOpenAlerts(app.database()),
    keepAlerts: (alerts) => replaceOpenAlerts(app.database(), alerts),
  };
}
