import { existsSync } from 'node:fs';
import { createBudget, startsWithinMs, type Budget } from './client/budget.ts';
import { mirroredProject, requireService } from './client/configured-service.ts';
import { readPace } from './client/pace.ts';
import { memoryRequestTimes, type Kept, type RequestTimes } from './client/request-times.ts';
import { deprecationHint, type Deprecation } from './client/deprecation.ts';
import { createService, type Service } from './client/service.ts';
import { openTransport } from './client/transport.ts';
import { openClusterDatabase, type ClusterDatabase } from './cluster/cluster-database.ts';
import type { SharedStorage } from './cluster/held-project.ts';
import { openSeat, openStorage, type OpenLedger, type Seat } from './cluster/seat.ts';
import { sharedRequestTimes } from './cluster/shared-request-times.ts';
import type { Environment, Secrets } from './config/environment.ts';
import { loadProjects, loadSettings, type LoadedSettings, type SettingsFlags } from './config/load-settings.ts';
import type { Settings } from './config/settings.ts';
import { isoTime, systemClock, type Clock } from './core/clock.ts';
import { sha256 } from './core/digest.ts';
import { AppError } from './core/errors.ts';
import type { JobContext, ServiceContext } from './job/job-context.ts';
import { openLedger, openLedgerPausing } from './ledger/ledger.ts';
import { commandSigner, seedSigner, type OutsideSigner } from './ledger/outside-signer.ts';
import { createLogger, type Logger } from './log/logger.ts';
import { openTracer } from './log/open-tracer.ts';
import { databasePath, openDatabase, openDatabaseReadOnly, type Database } from './mirror/database.ts';
import { openRequestTimes } from './mirror/request-times.ts';
import { publishedFilesIn } from './snapshot/published-files.ts';
import packageJson from '../package.json' with { type: 'json' };

/** The program's parts, each made when it is first asked for and closed together. */
export type App = {
  /** The project's name in the configuration. */
  name: string;
  settings: Settings;
  hasApiKey: boolean;
  clock: Clock;
  log: Logger;
  /** The mirror, for writing; made where there is none. */
  database: () => Database;
  /** A connection of its own to an existing mirror, for reading. */
  databaseReadOnly: () => Database;
  /** The service's API. Throws `usage` when the address, the project or the key is not configured. */
  service: () => Service;
  /** Whether address, project and key are configured, so that the service can be asked. */
  hasService: boolean;
  /** The keys that sign the ledger from outside of the data folder. */
  signers: () => readonly OutsideSigner[];
  /** Makes the context of a job; its service is null where none is configured. Opens the mirror, for writing. */
  jobContext: (signal: AbortSignal) => JobContext;
  /** Makes the context of a job that needs the service. Throws as `service` does, before the mirror is opened. */
  serviceContext: (signal: AbortSignal) => ServiceContext;
  /** Whether an answer so far has declared the service's address deprecated; null where none has. */
  deprecation: () => Deprecation | null;
  /** Limits the service's calls, and tells how many are left. */
  budget: Budget;
  /** What the machines of a cluster share; null where none is configured. */
  clusterDatabase: ClusterDatabase | null;
  /** Of a cluster with a storage: takes the project, for `worker` or a command. Only then can a job run. */
  hold: Seat['hold'];
  /** Commits, deletes the copy, and lets other machines take the project. Does nothing where it is not held. */
  giveUp: () => Promise<void>;
  /** Of a cluster: closes the data folder of a project that is lost. What is in it stays. */
  lose: () => Promise<void>;
  /** Of a cluster: the project as all machines name it, and what this machine does besides holding it; else null. */
  shared: (NonNullable<Seat['shared']> & Pick<Seat, 'clear'>) | null;
  close: () => Promise<void>;
};

/** The environment that the program runs in. */
export type AppSurroundings = {
  environment: Environment;
  isTerminal: boolean;
  /** The machine's clock, unless a drill brings its own. */
  clock?: Clock | undefined;
  /** Whether a job waits while another run holds the data folder. */
  wait?: boolean | undefined;
};

/** Builds the program from its settings, for the one project that the flags select. Nothing is opened yet. */
export function createApp(surroundings: AppSurroundings, flags: SettingsFlags): App {
  const loaded = loadSettings(surroundings.environment, flags);
  return assembleApp(loaded, { ...shareParts(loaded, surroundings), secrets: loaded.secrets }, new Map());
}

/** The parts that all projects share. */
type Shared = Pick<App, 'log' | 'clock'> &
  Pick<JobContext, 'tracer' | 'wait'> & {
    environment: Environment;
    cluster: ClusterDatabase | null;
    storage: SharedStorage | null;
  };

function shareParts(
  { settings, secrets }: LoadedSettings & { secrets: Secrets },
  { environment, isTerminal, clock = systemClock, wait }: AppSurroundings,
): Shared {
  const log = createLogger({ level: settings.log.level, isTerminal });
  const tracer = openTracer(environment, {
    version: packageJson.version,
    now: () => systemClock.now(),
    onLost: (spans, reason) => log.warn({ spans, reason }, 'traces were lost'),
  });
  const address = secrets.clusterDatabase ?? settings.cluster.database;
  const cluster = address === null ? null : openClusterDatabase(address);
  const storage = openStorage(settings.cluster, { database: cluster, address, key: secrets.clusterKey });
  return { log, tracer, clock, wait, environment, cluster, storage };
}

/** The program for each configured project, and what they have in common. Those with one key share one budget. */
export type ProjectApps = Pick<App, 'log' | 'clock'> & { apps: [App, ...App[]]; secrets: Secrets };

/** Builds the program for every project. Nothing is opened yet. */
export function createProjectApps(surroundings: AppSurroundings, flags: SettingsFlags): ProjectApps {
  const { projects, secrets } = loadProjects(surroundings.environment, flags);
  const [first, ...others] = projects;
  const budgets: SharedBudgets = new Map();
  const shared = shareParts({ ...first, secrets }, surroundings);
  const { log, clock } = shared;
  const assemble = (loaded: LoadedSettings): App => {
    const own = others.length === 0 ? log : log.child({ project: loaded.name });
    return assembleApp(loaded, { ...shared, secrets, log: own }, budgets);
  };
  return { apps: [assemble(first), ...others.map(assemble)], log, clock, secrets };
}

/** Budgets by a digest of service and key. */
type SharedBudgets = Map<string, Budget>;

/** An answer may have one value for so many bytes of `service.bodyBytesMax`. JSON with names of fields needs more for each. */
const bytesPerValue = 16;

function assembleApp(
  { name, settings: given, apiKey }: LoadedSettings,
  {
    log,
    tracer,
    clock,
    wait,
    environment,
    cluster,
    storage,
    secrets,
  }: Shared & { secrets: Pick<Secrets, 'signingKeys'> },
  budgets: SharedBudgets,
): App {
  const signers = (): OutsideSigner[] => outsideSigners(given, { ...secrets, environment });
  const seat = openSeat(storage, { name, given, clock, wait, signers });
  const { settings } = seat;
  const connections: Database[] = [];
  const disconnect = (): void => {
    for (const db of connections.splice(0)) db.close();
    database = undefined;
  };
  const closers: (() => unknown)[] = [
    () => tracer.close(),
    () => cluster?.close(),
    () => storage?.holdings.close(),
    seat.close,
    disconnect,
  ];
  let database: Database | undefined;
  let service: Service | undefined;
  let deprecation: Deprecation | null = null;
  let pausedUntilMs = 0;
  const opened = (db: Database): Database => {
    connections.push(db);
    return db;
  };
  const timeoutMs = settings.service.totalTimeoutMs + startsWithinMs;
  /** Request times are shared by all processes that use the mirror; without a writable mirror this process counts alone. */
  const ownRequestTimes = (clock: Clock, kept: Kept): RequestTimes => {
    // The folder of a shared project comes and goes.
    if (seat.isShared || !existsSync(databasePath(settings.dataDir))) return memoryRequestTimes(clock, kept);
    try {
      const db = opened(openDatabase(settings.dataDir, clock));
      return openRequestTimes(db, clock, { ...kept, timeoutMs, readPace });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      log.warn({ code: error.code }, 'the mirror cannot be written, requests of other processes are not counted');
      return memoryRequestTimes(clock, kept);
    }
  };
  const { baseUrl } = settings.service;
  const account = sha256(JSON.stringify([baseUrl === null ? null : new URL(baseUrl).origin, apiKey]));
  const requestTimes = (clock: Clock, kept: Kept): RequestTimes => {
    const own = ownRequestTimes(clock, kept);
    return cluster === null ? own : sharedRequestTimes(cluster, { account, timeoutMs }, kept, own);
  };
  const onLongWait = (waitMs: number): void =>
    log.info({ until: isoTime(clock.now() + waitMs) }, 'waiting for the budget');
  const budget = budgets.get(account) ?? createBudget(settings.budget, clock, requestTimes, onLongWait);
  budgets.set(account, budget);
  const openService = (): Service => {
    if (service) return service;
    const { origin, key } = requireService(settings, apiKey);
    const transport = openTransport(origin, key, settings.budget.concurrency, settings.service);
    closers.push(() => transport.close());
    const send: typeof transport.send = (request) => {
      seat.check();
      return transport.send(request);
    };
    service = createService({
      transport: { ...transport, send },
      budget,
      clock,
      tracer,
      random: Math.random,
      retryLimits: settings.retry,
      jsonDepthMax: settings.service.jsonDepthMax,
      jsonValuesMax: Math.ceil(settings.service.bodyBytesMax / bytesPerValue),
      projectPath: `${settings.service.pathPrefix}/${encodeURIComponent(settings.service.projectId ?? '')}`,
      onRetry: ({ code, status }, attempt, delayMs) => {
        // `onThrottled` logs a 429.
        if (status !== 429)
          log.warn({ code, status, attempt, delayMs: Math.round(delayMs) }, 'call failed, trying again');
      },
      onThrottled: (pauseMs) => {
        // Requests under way at once are all refused: one line for all of them.
        const untilMs = clock.now() + pauseMs;
        const until = isoTime(untilMs);
        if (untilMs > pausedUntilMs + pauseMs / 2)
          log.warn({ status: 429, pauseMs: Math.round(pauseMs), until }, 'too many requests, pausing');
        pausedUntilMs = Math.max(pausedUntilMs, untilMs);
      },
      onDeprecated: (declared) => {
        deprecation = declared;
        const fix = deprecationHint(settings.service.pathPrefix);
        log.warn({ ...declared, fix }, 'the service has declared this address deprecated');
      },
    });
    return service;
  };
  const hasService = apiKey !== null && settings.service.baseUrl !== null && settings.service.projectId !== null;
  const openMirror = (): Database => (database ??= opened(openDatabase(settings.dataDir, clock)));
  const open: OpenLedger = {
    now: (store) => openLedger(settings.dataDir, clock, signers(), store),
    pausing: (stop, store) => openLedgerPausing(settings.dataDir, clock, signers(), stop, store),
  };
  const localContext = (signal: AbortSignal): JobContext => {
    const context = { db: openMirror(), published: publishedFilesIn(settings.dataDir), settings, clock, log, tracer };
    const own = { ...context, signal, wait, service: null, project: null, ledger: open.now, openLedger: open.pausing };
    return seat.joined(own, open);
  };
  const serviceContext = (signal: AbortSignal): ServiceContext => {
    // First: without a configured service, no mirror is made.
    const upstream = { service: openService(), project: mirroredProject(settings, apiKey) };
    return { ...localContext(signal), ...upstream };
  };
  return {
    name,
    settings,
    budget,
    clusterDatabase: cluster,
    hasApiKey: apiKey !== null,
    hasService,
    clock,
    log,
    database: openMirror,
    signers,
    databaseReadOnly: () => opened(openDatabaseReadOnly(settings.dataDir)),
    service: openService,
    deprecation: () => deprecation,
    jobContext: hasService ? serviceContext : localContext,
    serviceContext,
    hold: seat.hold,
    lose: () => {
      disconnect();
      return seat.lose();
    },
    shared: seat.shared && { ...seat.shared, clear: seat.clear },
    giveUp: () => (seat.isShared ? seat.giveUp(openMirror, disconnect) : Promise.resolve()),
    close: async () => {
      for (const close of closers.toReversed()) await close();
    },
  };
}

/** The keys that sign the ledger from outside of the data folder, the present one first. */
function outsideSigners(
  { audit }: Settings,
  { signingKeys, environment }: Pick<Secrets, 'signingKeys'> & { environment: Environment },
): OutsideSigner[] {
  const programs = [audit.signer, audit.nextSigner].filter((signer) => signer !== null);
  return [
    ...programs.map(({ command, publicKey }) =>
      commandSigner({ command, publicKey: Buffer.from(publicKey, 'base64'), environment }),
    ),
    ...signingKeys.map(seedSigner),
  ];
}
