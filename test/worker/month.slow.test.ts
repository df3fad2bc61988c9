import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createBudget } from '../../src/client/budget.ts';
import { createService } from '../../src/client/service.ts';
import { openTransport, type Transport } from '../../src/client/transport.ts';
import { settingsWith } from '../config/settings-with.ts';
import { AppError } from '../../src/core/errors.ts';
import { addRequests } from '../../src/erasure/receive.ts';
import { scanInThisProcess } from '../erasure/scan-in-this-process.ts';
import { createLogger } from '../../src/log/logger.ts';
import { openDatabase } from '../../src/mirror/database.ts';
import { listRequests } from '../../src/mirror/erasure-requests.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { runEraseJob } from '../../src/erasure/fence/restore-guard.ts';
import type { WorkerProject } from '../../src/worker/project-runner.ts';
import { workerProject } from '../../src/worker/worker-project.ts';
import { startWorker, type Worker } from '../../src/worker/worker.ts';
import { virtualClock } from '../core/virtual-clock.ts';
import { jobContext } from '../job/job-context.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

const hour = 3_600_000;
const day = 24 * hour;
const startMs = Date.UTC(2026, 2, 1);
const days = 30;
/** The service does not answer, in days. */
const outage = { from: 12, to: 14 };
const quietDays = 3;
const eraseEveryDays = 6;

it('a month of the real jobs beside a service that changes: the mirror equals it, and who asked for it is gone', async () => {
  const clock = virtualClock(startMs);
  const today = (): number => (clock.now() - startMs) / day;
  const sandbox = await startSandbox({ persons: 60, recordings: 12, seed: 8, port: 0, hostile: true, clock });
  onTestFinished(() => sandbox.close());
  const dataDir = freshFolder();
  const settings = settingsWith({
    dataDir,
    'budget.windows': [],
    'budget.recordings.windows': [],
    'retry.attemptsMax': 1,
    'persons.pageSize': 25,
    'deletions.maxShare': 1,
    'schedule.head': '10 */8 * * *',
    'schedule.reconcile': '20 */6 * * *',
    'schedule.playlists': null,
    'schedule.drill': null,
    'export.keep': 2,
    'alerts.diskFreeBytesMin': 0,
  });
  const log = createLogger({ level: 'silent', isTerminal: false });
  const db = openDatabase(dataDir, clock);
  onTestFinished(() => void db.close());
  const pool = openTransport(sandbox.url, sandbox.apiKey, 4, settings.service);
  onTestFinished(() => pool.close());
  const transport: Transport = {
    ...pool,
    send: (request) => {
      if (today() < outage.from || today() >= outage.to) return pool.send(request);
      throw new AppError('no answer', { code: 'unreachable', retryable: true });
    },
  };
  const service = createService({
    transport,
    budget: createBudget(settings.budget, clock),
    clock,
    random: () => 0.5,
    retryLimits: settings.retry,
    jsonDepthMax: settings.service.jsonDepthMax,
    jsonValuesMax: 1_000_000,
    projectPath: `${settings.service.pathPrefix}/${sandbox.projectId}`,
  });
  scanInThisProcess();
  const context = jobContext(
    { db, settings, clock },
    { service, project: { origin: sandbox.url, projectId: sandbox.projectId } },
  );
  const underWay = { jobs: 0 };
  const own = workerProject(
    {
      name: 'shop',
      settings,
      keyFrom: '`MIRROR_API_KEY`',
      clock,
      database: () => db,
      serviceContext: (signal) => ({ ...context, signal }),
    },
    () => Promise.reject(new Error('no drill here')),
  );
  const project: WorkerProject = {
    ...own,
    run: async (job, signal) => {
      underWay.jobs += 1;
      try {
        await own.run(job, signal);
      } finally {
        underWay.jobs -= 1;
      }
    },
  };
  const alerts: string[] = [];
  const start = (): Worker =>
    startWorker({
      projects: [project],
      clock,
      log,
      projectsAtOnce: 1,
      onAlert: ({ event, alert }) => {
        const isExpected = today() >= outage.from && today() < outage.to + 2;
        if (!isExpected) alerts.push(`day ${today().toFixed(1)}: ${event} ${alert.kind} ${alert.job}`);
      },
    });
  /** Time stands still while a job waits for the real service, but for what the job itself waits for. */
  const untilIdle = async (): Promise<void> => {
    while (underWay.jobs > 0) await turn();
  };
  const passTo = async (ms: number): Promise<void> => {
    while (clock.now() < ms) {
      await untilIdle();
      await clock.settle(clock.sleep(Math.min(5 * 60_000, ms - clock.now())));
    }
    await untilIdle();
  };

  let worker = start();
  const openFiles: number[] = [];
  for (let number = 1; number <= days; number += 1) {
    await passTo(startMs + number * day - 12 * hour);
    if (number <= days - quietDays) {
      const [first, second, third, fourth] = [...sandbox.living()].slice(number);
      sandbox.act({ do: 'create', properties: { email: `new-${number}@example.com` } });
      sandbox.act({ do: 'create' });
      if (first && second) sandbox.act({ do: 'merge', loser: first.uuid, survivor: second.uuid });
      if (third) sandbox.act({ do: 'delete', uuid: third.uuid });
      if (fourth && number % eraseEveryDays === 0)
        await runEraseJob({ ...context, signal: new AbortController().signal }, async (parts) => {
          await addRequests(parts, [{ kind: 'uuid', value: fourth.uuid }], {
            basis: 'objection',
            by: 'the-test',
            deleteEvents: true,
          });
          return { outcome: 'done', counts: {} };
        });
    }
    sandbox.clock.moveTo(sandbox.clock.now());
    await passTo(startMs + number * day);
    if (number % 10 === 0) {
      expect(await worker.stop(25_000)).toBe(true);
      worker = start();
    }
    openFiles.push(countOpenFiles());
  }
  const state = worker.state().projects[0];
  const stopped = worker.stop(25_000);
  await clock.settle(stopped);

  expect(state?.problem).toBeNull();
  expect(alerts).toEqual([]);
  const mirrored = db.prepare<[], string>(`SELECT uuid FROM persons ORDER BY uuid`).pluck().all();
  expect(mirrored).toEqual([...sandbox.living()].map(({ uuid }) => uuid).toSorted());
  const requests = listRequests(db, 'all').filter(({ origin }) => origin === 'manual');
  expect(requests.length).toBe(4);
  const old = requests.filter(({ receivedAt }) => Date.parse(receivedAt) < startMs + (days - 10) * day);
  expect(old.map(({ state, reason }) => `${state} ${reason}`)).toEqual(old.map(() => 'sealed null'));
  // No file is left open, day by day.
  expect(Math.max(...openFiles.slice(-10))).toBeLessThanOrEqual(Math.max(...openFiles.slice(0, 10)));
});

/** Descriptors of this process but for sockets, of which there are as many as requests were made at once. */
function countOpenFiles(): number {
  const folder = '/proc/self/fd';
  return readdirSync(folder).filter((name) => {
    try {
      return !readlinkSync(join(folder, name)).startsWith('socket:');
    } catch {
      // The one that the folder itself was read by.
      return false;
    }
  }).length;
}
