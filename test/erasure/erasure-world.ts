import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createBudget } from '../../src/client/budget.ts';
import { createService, type Service } from '../../src/client/service.ts';
import { openTransport } from '../../src/client/transport.ts';
import { loadSettings } from '../../src/config/load-settings.ts';
import type { Settings } from '../../src/config/settings.ts';
import type { Clock } from '../../src/core/clock.ts';
import { publishedDatasets } from '../../src/contract/datasets.ts';
import type { GivenIdentifier } from '../../src/erasure/request/box.ts';
import type { JobContext, ServiceContext } from '../../src/job/job-context.ts';
import { addRequests, approveRequest, cancelRequest, type AddedRequest } from '../../src/erasure/receive.ts';
import { databasePath, openDatabase, openDatabaseReadOnly, type Database } from '../../src/mirror/database.ts';
import { listRequests, type ErasureRequest } from '../../src/mirror/erasure-requests.ts';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { runEraseJob } from '../../src/erasure/fence/restore-guard.ts';
import { runExportJob } from '../../src/worker/export-job.ts';
import { runReconcileJob, type ReconcileJobResult } from '../../src/worker/reconcile-job.ts';
import { runSyncJob } from '../../src/worker/sync-job.ts';
import { jobContext } from '../job/job-context.ts';
import { freshFolder, putEmptyMirror } from '../mirror/open-test-mirror.ts';
import type { Interceptor } from './upstream/upstream-world.ts';
import { scanInThisProcess } from './scan-in-this-process.ts';
import type { KillPoint } from '../kill/kill-point.ts';
import { createKillSwitch } from '../kill/kill-switch.ts';

const dayMs = 86_400_000;
const startMs = Date.parse('2026-11-18T09:00:00.000Z');
const authority = { basis: 'objection', by: 'the-test' };

/** The whole program beside a sandbox, in a folder of its own, on one clock; every job can be killed. */
export type ErasureWorld = {
  sandbox: Sandbox;
  dataDir: string;
  settings: Settings;
  clock: Clock;
  /** The mirror as it is now. A restart opens it anew. */
  db: () => Database;
  /** Makes a person at the service, and gives the uuid. */
  create: (distinctIds: string[], properties?: Record<string, unknown>) => string;
  /** The uuids of those who live at the service. */
  living: () => string[];
  /** The one request that there is. */
  onlyRequest: () => ErasureRequest;
  pass: (days: number) => void;
  /** From now on, the program's clock is so many days ahead of the service's. */
  setAhead: (days: number) => void;
  /** Each says whether it was killed. */
  sync: (kill?: KillPoint) => Promise<boolean>;
  publish: (kill?: KillPoint) => Promise<boolean>;
  request: (given: readonly GivenIdentifier[], kill?: KillPoint, deleteEvents?: boolean) => Promise<AddedRequest[]>;
  syncAndPublish: () => Promise<void>;
  /** What an operator decides: done as a job, whose result is given back. */
  erase: <Result>(act: (job: JobContext) => Result | Promise<Result>) => Promise<Result>;
  approveHeld: () => Promise<void>;
  /** Gives up every request that can be. */
  cancelAll: () => Promise<void>;
  reconcile: (kill?: KillPoint) => Promise<ReconcileJobResult | undefined>;
  /** Reconciles, and again when the service has had its time to delete the events. */
  reconcileToTheEnd: () => Promise<void>;
  /** What a look with the context of a job finds. */
  look: <Found>(find: (context: ServiceContext) => Promise<Found>) => Promise<Found>;
  restart: () => void;
  /** From now on, this stands between the program and the service. */
  intercept: (interceptor: Interceptor) => void;
  /** Opens the mirror after its files were replaced while it was closed. */
  reopen: () => void;
  /** Copies the mirror's file aside, and back again. */
  backUp: () => void;
  restore: () => boolean;
  close: () => Promise<void>;
};

/** Starts both. Few rows a page and few a part, so that there are several of each. */
export async function openErasureWorld(
  seed: number,
  more: Setting[] = [],
  { persons = 4, profile, live }: Pick<Partial<SandboxOptions>, 'persons' | 'profile' | 'live'> = {},
): Promise<ErasureWorld> {
  let nowMs = startMs;
  let aheadMs = 0;
  const clock: Clock = {
    now: () => nowMs + aheadMs,
    sleep: (ms) => {
      nowMs += ms;
      return Promise.resolve();
    },
  };
  scanInThisProcess();
  const sandbox = await startSandbox({
    persons,
    profile,
    live,
    recordings: 4,
    seed,
    port: 0,
    hostile: true,
    clock: { ...clock, now: () => nowMs },
  });
  const dataDir = freshFolder();
  const settings = settingsFor(dataDir, sandbox, more);
  const backup = join(freshFolder(), 'mirror.db');
  putEmptyMirror(dataDir);
  let db = openDatabase(dataDir, clock);
  let interceptor: Interceptor = (_asked, send) => send();
  const restart = (): void => {
    db.close();
    db = openDatabase(dataDir, clock);
  };

  /** Runs a job as a process of its own would, up to its end or to where it is killed. */
  const asProcess = async (
    kill: KillPoint | undefined,
    job: (context: ServiceContext) => Promise<unknown>,
  ): Promise<boolean> => {
    nowMs += 60_000;
    const killSwitch = createKillSwitch(dataDir, kill ?? null);
    const transport = openTransport(sandbox.url, sandbox.apiKey, 4, settings.service);
    const killable = killSwitch.transport({
      ...transport,
      send: (asked) => interceptor(asked, () => transport.send(asked)),
    });
    const context = jobContext(
      { db: db, settings, clock },
      {
        service: serviceOver(killable, settings, clock, sandbox),
        project: { origin: sandbox.url, projectId: sandbox.projectId },
      },
    );
    try {
      const wasKilled = await killSwitch.run(() => job(context));
      if (wasKilled) restart();
      return wasKilled;
    } finally {
      await transport.close();
    }
  };

  const look: ErasureWorld['look'] = async (find) => {
    const found: Awaited<ReturnType<typeof find>>[] = [];
    await asProcess(undefined, async (context) => found.push(await find(context)));
    if (found.length === 0) throw new Error('the look was not finished');
    return found[0] as (typeof found)[number];
  };
  const erase: ErasureWorld['erase'] = async (act) => {
    const { result } = await look((context) =>
      runEraseJob(context, async (job) => ({ outcome: 'done', counts: {}, result: await act(job) })),
    );
    return result;
  };
  const forEachOpen = (act: (parts: JobContext, request: ErasureRequest) => void): Promise<void> =>
    erase((job) => {
      for (const request of listRequests(job.db, 'open')) act(job, request);
    });

  let published = 0;
  const world: ErasureWorld = {
    sandbox,
    dataDir,
    settings,
    clock,
    db: () => db,
    create: (distinctIds, properties = {}) =>
      sandbox.act({ do: 'create', distinct_ids: distinctIds, properties }).created[0] ?? '',
    living: () => [...sandbox.living()].map(({ uuid }) => uuid),
    onlyRequest: () => {
      const [request, ...others] = listRequests(db, 'all');
      if (!request || others.length > 0) throw new Error('not one request');
      return request;
    },
    pass: (days) => {
      nowMs += days * dayMs;
      sandbox.clock.moveTo(sandbox.clock.now());
    },
    sync: (kill) =>
      asProcess(kill, (context) =>
        runSyncJob(context, { datasets: ['persons', 'recordings', 'playlists'], mode: 'full', resume: true }),
      ),
    publish: (kill) =>
      asProcess(kill, async (context) => {
        const source = openDatabaseReadOnly(dataDir);
        try {
          // Every other one a delta: nobody may be left in those either.
          published += 1;
          const kind = published % 2 === 0 ? 'delta' : 'full';
          await runExportJob(context, { kind, datasets: publishedDatasets, source });
        } finally {
          source.close();
        }
      }),
    request: async (given, kill, deleteEvents = true) => {
      let added: AddedRequest[] = [];
      await asProcess(kill, (context) =>
        runEraseJob(context, async (parts) => {
          added = await addRequests(parts, given, { ...authority, deleteEvents });
          return { outcome: 'done', counts: {} };
        }),
      );
      return added;
    },
    syncAndPublish: async () => {
      await world.sync();
      await world.publish();
    },
    erase,
    approveHeld: () =>
      forEachOpen((parts, { id, state }) => {
        if (state === 'held') approveRequest(parts, id);
      }),
    cancelAll: () =>
      forEachOpen((parts, { id, fencedAt, generation }) => {
        if (fencedAt === null && generation === 1) cancelRequest(parts, id);
      }),
    reconcile: async (kill) => {
      let result: ReconcileJobResult | undefined;
      await asProcess(kill, async (context) => (result = await runReconcileJob(context, undefined)));
      return result;
    },
    reconcileToTheEnd: async () => {
      await world.reconcile();
      world.pass(14);
      await world.reconcile();
    },
    look,
    setAhead: (days) => {
      aheadMs = days * dayMs;
    },
    restart,
    intercept: (next) => {
      interceptor = next;
    },
    reopen: () => {
      db = openDatabase(dataDir, clock);
    },
    backUp: () => {
      db.close();
      copyFileSync(databasePath(dataDir), backup);
      db = openDatabase(dataDir, clock);
    },
    restore: () => {
      if (!existsSync(backup)) return false;
      db.close();
      for (const suffix of ['-wal', '-shm']) rmSync(`${databasePath(dataDir)}${suffix}`, { force: true });
      copyFileSync(backup, databasePath(dataDir));
      db = openDatabase(dataDir, clock);
      return true;
    },
    close: async () => {
      db.close();
      await sandbox.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
  onTestFinished(world.close);
  return world;
}

/** A world with one person, whom the mirror and the published files have, and who has one name. */
export async function openKnownWorld(
  name: string,
  more: Setting[] = [],
): Promise<{ world: ErasureWorld; uuid: string; given: GivenIdentifier[] }> {
  const world = await openErasureWorld(5, more);
  const uuid = world.create([name], { email: name });
  await world.syncAndPublish();
  return { world, uuid, given: [{ kind: 'uuid', value: uuid }] };
}

/** A setting of a world, by its path. */
export type Setting = { path: string; value: unknown };

function settingsFor(dataDir: string, sandbox: Sandbox, more: readonly Setting[]): Settings {
  const set = [
    { path: 'dataDir', value: dataDir },
    { path: 'persons.pageSize', value: 12 },
    { path: 'recordings.pageSize', value: 12 },
    { path: 'playlists.shortIds', value: sandbox.playlists },
    { path: 'budget.windows', value: [] },
    { path: 'budget.recordings.windows', value: [] },
    // The service is believed at its first word: what is tested here is what is done then.
    { path: 'deletions.confirmations', value: 1 },
    { path: 'deletions.confirmAfterSeconds', value: 0 },
    { path: 'deletions.maxShare', value: 1 },
    { path: 'deletions.collectHours', value: 0 },
    { path: 'export.partRows', value: 5 },
    { path: 'export.keep', value: 2 },
    { path: 'erasure.maxBatch', value: 3 },
    ...more,
  ];
  return loadSettings({}, { set }).settings;
}

function serviceOver(
  transport: Parameters<typeof createService>[0]['transport'],
  settings: Settings,
  clock: Clock,
  { projectId }: Sandbox,
): Service {
  return createService({
    transport,
    budget: createBudget(settings.budget, clock),
    clock,
    random: () => 0.5,
    retryLimits: settings.retry,
    jsonDepthMax: settings.service.jsonDepthMax,
    jsonValuesMax: 1_000_000,
    projectPath: `${settings.service.pathPrefix}/${projectId}`,
  });
}
