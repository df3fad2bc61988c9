import { setTimeout as delay } from 'node:timers/promises';
import { createProjectApps, type App } from '../../src/app/app.ts';
import type { Clock } from '../../src/core/clock.ts';
import { addRequests } from '../../src/erasure/receive.ts';
import { runEraseJob } from '../../src/erasure/fence/restore-guard.ts';
import { createLogger } from '../../src/log/logger.ts';
import { besideSandbox } from '../../src/rehearsal/embedded-sandbox.ts';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { workerProject } from '../../src/worker/worker-project.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { virtualClock } from '../core/virtual-clock.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;
/** The last day has the schedule of the folder. Before it, what runs once a day is enough. */
const denseDays = 1.1;

/** Settings of a folder whose page is shown: no limit makes a job wait, and none of what takes long is done. */
export const calm: Readonly<Record<string, unknown>> = {
  'budget.windows': [
    { requests: 2_000, perSeconds: 60 },
    { requests: 20_000, perSeconds: 3600 },
  ],
  'budget.recordings.windows': [],
  'retry.attemptsMax': 1,
  'recordings.query': { date_from: '-30d' },
  'schedule.drill': null,
  'schedule.head': '5 * * * *',
  'schedule.reconcile': '20 */3 * * *',
  'schedule.playlists': null,
  'log.level': 'silent',
  'alerts.diskFreeBytesMin': 0,
};

/** A day of a past: what happens at noon. */
export type Noon = {
  day: number;
  sandbox: Sandbox;
  /** Asks for a person to be erased. */
  erase: (kind: 'uuid' | 'email', value: string) => Promise<void>;
};

/** A past to be lived through. `endMs`: when it ends, in milliseconds since 1970. */
export type Past = {
  dataDir: string;
  days: number;
  endMs: number;
  set?: Readonly<Record<string, unknown>>;
  persons: number;
  atNoon: (noon: Noon) => Promise<void> | void;
};

/** Lets the real worker mirror a sandbox for some days, within seconds. The sandbox goes on in the present. */
export async function liveThrough({ dataDir, days, endMs, set = {}, persons, atNoon }: Past): Promise<Sandbox> {
  const startMs = endMs - days * dayMs;
  const past = virtualClock(startMs);
  let isPast = true;
  const clock: Clock = { now: () => (isPast ? past.now() : Date.now()), sleep: (ms, signal) => past.sleep(ms, signal) };
  const sandbox = await startSandbox({ persons, recordings: persons / 5, seed: 11, port: 0, clock });
  const denseFromMs = endMs - denseDays * dayMs;
  const calmer = { 'schedule.head': null, 'schedule.reconcile': '20 6 * * *', 'schedule.playlists': null };
  await work(startMs, denseFromMs, calmer);
  await work(denseFromMs, endMs, {});
  isPast = false;
  return sandbox;

  async function work(fromMs: number, toMs: number, more: Readonly<Record<string, unknown>>): Promise<void> {
    const all = { ...calm, ...set, ...more, dataDir };
    const flags = { set: Object.entries(all).map(([path, value]) => ({ path, value })) };
    const { apps } = createProjectApps({ ...besideSandbox(sandbox), clock }, flags);
    const [app] = apps;
    const underWay = { jobs: 0 };
    const own = workerProject(app, () => Promise.reject(new Error('no drill here')));
    const worker = startWorker({
      projects: [
        {
          ...own,
          run: async (...job) => {
            underWay.jobs += 1;
            try {
              await own.run(...job);
            } finally {
              underWay.jobs -= 1;
            }
          },
        },
      ],
      clock,
      log: createLogger({ level: 'silent', isTerminal: false }),
      projectsAtOnce: 1,
      onAlert: () => undefined,
    });
    // Time stands still while a job waits for the service.
    const untilIdle = async (): Promise<void> => {
      while (underWay.jobs > 0) await delay(2);
    };
    let noonMs = Math.ceil((fromMs - startMs) / dayMs - 0.5) * dayMs + startMs + dayMs / 2;
    while (past.now() < toMs) {
      await untilIdle();
      await past.settle(past.sleep(Math.min(5 * minuteMs, toMs - past.now())));
      sandbox.clock.moveTo(sandbox.clock.now());
      if (past.now() < noonMs) continue;
      await untilIdle();
      const day = Math.round((noonMs - startMs) / dayMs + 0.5);
      await atNoon({ day, sandbox, erase: (kind, value) => erase(app, kind, value) });
      noonMs += dayMs;
    }
    await untilIdle();
    await past.settle(worker.stop(1000));
    await app[Symbol.asyncDispose]();
  }
}

async function erase(app: App, kind: 'uuid' | 'email', value: string): Promise<void> {
  const context = app.serviceContext(new AbortController().signal);
  await runEraseJob(context, async (job) => {
    const authority = { basis: 'objection', by: 'privacy-desk', deleteEvents: true };
    await addRequests(job, [{ kind, value }], authority);
    return { outcome: 'done', counts: {} };
  });
}
