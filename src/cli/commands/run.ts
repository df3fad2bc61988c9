import { once } from 'node:events';
import type { Command } from 'commander';
import packageJson from '../../../package.json' with { type: 'json' };
import { createProjectApps, type App, type ProjectApps } from '../../app/app.ts';
import { postWebhook } from '../../client/post.ts';
import { startClusterWorker, type ClusterWorker, type ClusterWorkerSetup } from '../../cluster/cluster-worker.ts';
import type { SharableProject } from '../../cluster/hold-projects.ts';
import { clusterTiming } from '../../cluster/timing.ts';
import { isoTime } from '../../core/clock.ts';
import { AppError, usageError } from '../../core/errors.ts';
import { secondText } from '../../core/words.ts';
import { schemaVersion } from '../../mirror/migrate.ts';
import { runDrillJob } from '../../rehearsal/drill-job.ts';
import { readCalledBack } from '../../intake/called-back.ts';
import { startIntake, type Intake, type IntakeSetup } from '../../intake/intake.ts';
import { startStatusPage, type StatusPage } from '../../status/page.ts';
import type { WorkerState } from '../../job/worker-state.ts';
import { alertPost, type AlertPost } from '../../worker/alert-post.ts';
import type { AlertChange } from '../../worker/alerts.ts';
import type { WorkerProject } from '../../worker/project-runner.ts';
import { workerProject } from '../../worker/worker-project.ts';
import { startWorker, type Worker } from '../../worker/worker.ts';
import { printResult, type CommandAction, type CommandContext } from '../command.ts';
import { exitCodes } from '../errors.ts';
import { settingsFlags, type GlobalOptions } from '../global-options.ts';
import { formatTable } from '../table.ts';

/** Defines `run`: runs the worker. */
export function define(command: Command, context: CommandContext): CommandAction {
  return {
    help: `
The settings schedule.* (cron, UTC) say when each job starts. A job that missed its times starts once. A job that failed is
tried again after growing pauses. The first SIGTERM or SIGINT ends running jobs at their next safe point, within
run.drainSeconds; the second ends the process at once. Neither loses data.
Exit codes: 0 stopped, 1 stopped before every job had ended, 130 stopped at once.

Examples:
  analytics-mirror run
  analytics-mirror run --set schedule.export=null --set 'schedule.head="*/5 * * * *"'`,
    act: async () => {
      const flags = settingsFlags(command.optsWithGlobals<GlobalOptions>(), context.environment);
      await using programs = createProjectApps(context, flags);
      await runWorker(programs, context, (worker, urls) =>
        printResult(context, command, startText(worker, urls, isoTime(programs.clock.now()))),
      );
    },
  };
}

/** The addresses that a worker serves; null where it takes no requests. */
export type WorkerUrls = { statusUrl: string; intakeUrl: string | null };

/** Runs the worker until the first signal. Calls `announce` once, with its addresses. */
export async function runWorker(
  programs: ProjectApps,
  context: CommandContext,
  announce: (worker: Worker, urls: WorkerUrls) => void,
): Promise<void> {
  const { apps, log, clock } = programs;
  const { run } = apps[0].settings;
  // First: a project without a service is refused before any work begins.
  for (const app of apps) app.service();
  const projects = apps.map((app) => workerProject(app, runDrillJob));
  if (projects.every(({ schedule }) => Object.values(schedule).every((cron) => cron === null)))
    throw usageError('nothing is scheduled', 'set schedule.head and the others');
  const posting = new AbortController();
  const post = alertPosting(programs, posting.signal);
  const shared = apps.flatMap((app, index) => {
    const work = projects[index];
    return app.shared && work ? [sharable(app, app.shared, work)] : [];
  });
  // First, so that a port in use ends this command before any job starts.
  const intake = await serveIntake(programs);
  const page = await serveStatus(programs).catch(async (error: unknown) => {
    await intake?.close();
    throw error;
  });
  const onAlert = (change: AlertChange): void => post?.add(change);
  /** All projects, those of other machines too: a sign of life says that none of them has an alert. */
  let all: WorkerState | null = null;
  const show = (state: WorkerState): void => {
    all = state;
    page.show(state);
  };
  const worker = startWorker({
    projects: shared.length > 0 ? [] : projects,
    clock,
    log,
    projectsAtOnce: run.projectsAtOnce,
    onAlert,
    onLook: (state) => {
      if (shared.length === 0) show(state);
      if (all) post?.look(all);
    },
  });
  const joined = joinCluster(programs, shared, {
    worker,
    signal: context.signal,
    onLook: (seen) => show({ ...worker.state(), projects: seen }),
    onAlert,
  });
  announce(worker, { statusUrl: page.url, intakeUrl: intake?.url ?? null });
  const stopping = new AbortController();
  try {
    if (!context.signal.aborted)
      await Promise.race([
        once(context.signal, 'abort', { signal: stopping.signal }),
        worker.ended,
        ...(joined ? [joined.ended] : []),
      ]);
  } finally {
    stopping.abort();
    await intake?.close();
    log.info({ drainSeconds: run.drainSeconds }, 'stopping');
    const isDrained = await worker.stop(run.drainSeconds * 1000);
    await joined?.close();
    posting.abort(new AppError('interrupted', { code: 'interrupted' }));
    await page.close();
    if (isDrained) log.info('stopped');
    else {
      log.error('a job has not ended in time; the next start goes on where it was');
      context.exit(exitCodes.failed);
    }
  }
}

/** A project of the worker as one that it takes from a cluster and gives up again. */
function sharable(
  app: App,
  { project, lose, clear, hasCopy }: NonNullable<App['shared']>,
  work: WorkerProject,
): SharableProject {
  const { name, service, dataDir } = work;
  return {
    ...project,
    bare: { name, service, dataDir },
    hold: async () => {
      const held = await app.take('worker');
      if (!held) throw new Error('a project that is not shared');
      return { work, token: held.token, signal: held.signal };
    },
    giveUp: app.giveUp,
    lose,
    clear,
    hasCopy,
  };
}

/** Begins to take projects of a cluster, where there is one. */
function joinCluster(
  { apps, clock, log }: ProjectApps,
  projects: readonly SharableProject[],
  more: Pick<ClusterWorkerSetup, 'worker' | 'signal' | 'onLook' | 'onAlert'>,
): ClusterWorker | null {
  const [{ clusterDatabase: database, shared }] = apps;
  if (!database || !shared) return null;
  const { holdings } = shared;
  return startClusterWorker({
    ...more,
    database,
    holdings,
    projects,
    schema: schemaVersion(),
    clock,
    log,
    timing: clusterTiming,
  });
}

/** Posts alerts where an address for them is configured. */
function alertPosting({ apps, secrets, clock, log }: ProjectApps, signal: AbortSignal): AlertPost | null {
  const { alertWebhook: url, alertRoutingKey } = secrets;
  const { format } = apps[0].settings.alerts;
  if (url === null) return null;
  if (format === 'pagerduty' && alertRoutingKey === null)
    throw usageError(
      'alerts.format is pagerduty, and there is no routing key',
      "set MIRROR_ALERT_ROUTING_KEY_FILE to a file with the integration's routing key",
    );
  const tools = { clock, random: Math.random, signal };
  const target = { format, routingKey: alertRoutingKey ?? '' };
  return alertPost(({ body, path }) => postWebhook(addPath(url, path), body, tools), target, log);
}

/** An address whose path goes on; its query stays. */
function addPath(address: string, path: string): string {
  const url = new URL(address);
  if (path !== '') url.pathname = `${url.pathname.replace(/\/$/, '')}${path}`;
  return url.href;
}

/** Serves the status page of all projects. */
function serveStatus({ apps, clock, log, secrets }: ProjectApps): Promise<StatusPage> {
  const { host, port, allowedHosts } = apps[0].settings.status;
  const setup = {
    version: packageJson.version,
    startedAt: isoTime(clock.now()),
    access: { host, allowedHosts, token: secrets.statusToken },
    port,
    projects: apps.map(({ name, settings: { dataDir, budget } }) => ({ name, dataDir, budget })),
  };
  return startStatusPage(setup, clock, (code) => log.error({ code }, 'the status page failed'));
}

/** Takes requests over HTTP where the settings have a port for them. */
async function serveIntake({ apps, clock, log }: ProjectApps): Promise<Intake | null> {
  const [{ settings, clusterDatabase }] = apps;
  const { port } = settings.intake;
  if (port === null) return null;
  if (clusterDatabase)
    throw usageError(
      'the intake does not work where machines share the projects',
      'set intake.port to null here, and add requests with `erase add`',
    );
  const projects = apps.map(({ name, jobContext, settings: { dataDir } }) => ({ name, dataDir, jobContext }));
  const messages = {
    'an answer': 'an answer of the intake failed',
    'a callback': 'a sender was not called back',
  } as const;
  const onError: IntakeSetup['onError'] = (code, what, fix) => log.error({ code, fix }, messages[what]);
  const callbacks = readCalledBack(settings.intake.senders);
  return startIntake({ settings: { ...settings.intake, port }, projects, clock, callbacks, onError });
}

/** What `run` says when it has started. A job whose time is past is due. */
export function startText(
  worker: Pick<Worker, 'state'>,
  { statusUrl, intakeUrl }: WorkerUrls,
  now: string,
): { json: object; text: string } {
  const jobs = worker
    .state()
    .projects.flatMap(({ name, jobs }) =>
      jobs.map(({ job, cron, nextAt, lastAt }) => ({ project: name, job, cron, nextAt, lastAt })),
    );
  const table = formatTable(
    ['project', 'job', 'schedule (UTC)', 'next'],
    jobs.map(({ project, job, cron, nextAt }) => [project, job, cron, nextAt <= now ? 'due' : secondText(nextAt)]),
  );
  const intake = intakeUrl === null ? '' : `intake: ${intakeUrl}\n`;
  return { json: { statusUrl, intakeUrl, schedule: jobs }, text: `${table}\nstatus page: ${statusUrl}\n${intake}` };
}
