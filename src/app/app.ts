import type { Budget } from '../client/budget.ts';
import { mirroredProject } from '../client/configured-service.ts';
import type { Deprecation } from '../client/deprecation.ts';
import type { Service } from '../client/service.ts';
import type { ClusterDatabase } from '../cluster/cluster-database.ts';
import { openClusterHome, type ClusterHome } from '../cluster/cluster-home.ts';
import type { Environment, Secrets } from '../config/environment.ts';
import { loadProjects, loadSettings, type LoadedSettings, type SettingsFlags } from '../config/load-settings.ts';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../core/clock.ts';
import { refuseHiddenFolder } from '../core/folder.ts';
import type { JobContext, ServiceContext } from '../job/job-context.ts';
import { localHome, type OpenLedger, type ProjectHome } from '../job/project-home.ts';
import { openLedger, openLedgerPausing } from '../ledger/ledger.ts';
import { commandSigner, seedSigner, type OutsideSigner } from '../ledger/outside-signer.ts';
import type { Database } from '../mirror/database.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';
import { connectionsTo } from './connections.ts';
import { refuseLeftFolder, unusedFolders } from './left-folder.ts';
import { projectService } from './project-service.ts';
import { sharedParts, type AppSurroundings, type SharedParts } from './shared-parts.ts';

/** The program's parts, each made when it is first asked for. Disposed of, all are closed. */
export type App = AsyncDisposable & {
  /** The project's name in the configuration. */
  name: string;
  settings: Settings;
  hasApiKey: boolean;
  /** Where its key comes from, in words for a message. */
  keyFrom: string;
  /** Folders in the configuration's `dataDir` with a mirror or a ledger that no project uses. */
  unused: () => string[];
  clock: Clock;
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
  /** The deprecation of its address that the service has announced, or null. */
  deprecation: () => Deprecation | null;
  /** Limits the service's calls, and tells how many are left. */
  budget: Budget;
  /** Takes the project, where machines share it, for `worker` or a command. Only then can a job run. */
  take: ProjectHome['take'];
  /** Puts the project's state where other machines find it, deletes the copy, and lets them take it. */
  giveUp: () => Promise<void>;
  /** What the machines of a cluster share; null where none is configured. */
  clusterDatabase: ClusterDatabase | null;
  /** The project as the machines of a cluster share it; else null. */
  shared: Pick<ClusterHome, 'project' | 'holdings' | 'lose' | 'clear' | 'hasCopy' | 'elsewhere'> | null;
};

/**
 * Builds the program from its settings, for the one project that the flags select. Nothing is opened yet. Throws `storage` where this user
 * may not look into the data folder.
 */
export function createApp(surroundings: AppSurroundings, flags: SettingsFlags): App {
  const loaded = loadSettings(surroundings.environment, flags);
  refuseHiddenFolder(loaded.settings.dataDir);
  return assembleApp(loaded, sharedParts(loaded, surroundings));
}

/** The program for each configured project, and what they have in common. Those with one key share one budget. Disposed of, all are closed. */
export type ProjectApps = Pick<SharedParts, 'log' | 'clock' | 'secrets'> & AsyncDisposable & { apps: [App, ...App[]] };

/** Builds the program for every project. Nothing is opened yet. */
export function createProjectApps(surroundings: AppSurroundings, flags: SettingsFlags): ProjectApps {
  const { projects, secrets } = loadProjects(surroundings.environment, flags);
  const [first, ...others] = projects;
  const parts = sharedParts({ ...first, secrets }, surroundings);
  const { log, clock } = parts;
  const assemble = (loaded: LoadedSettings): App =>
    assembleApp(loaded, { ...parts, log: others.length === 0 ? log : log.child({ project: loaded.name }) });
  const apps: ProjectApps['apps'] = [assemble(first), ...others.map(assemble)];
  const closing = new AsyncDisposableStack();
  for (const app of apps) closing.use(app);
  return { apps, log, clock, secrets, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

function assembleApp(loaded: LoadedSettings, parts: SharedParts): App {
  const { name, settings: given, apiKey, keyFrom } = loaded;
  refuseLeftFolder(loaded);
  const { log, tracer, clock, wait, cluster, storage } = parts;
  const signers = (): OutsideSigner[] => outsideSigners(given, parts);
  const shared = openClusterHome(storage, { name, given, clock, wait, signers });
  const home = shared ?? localHome(given);
  const { settings } = home;
  const { dataDir } = settings;
  const connections = connectionsTo(dataDir, clock);
  const service = projectService({ ...parts, home, connections, apiKey, keyFrom });
  const open: OpenLedger = {
    now: (store) => openLedger(dataDir, clock, signers(), store),
    pausing: (stop, store) => openLedgerPausing(dataDir, clock, signers(), stop, store),
  };
  const localContext = (signal: AbortSignal): JobContext => {
    const own = { db: connections.mirror(), published: publishedFilesIn(dataDir), settings, clock, log, tracer };
    const ledger = { ledger: open.now, openLedger: open.pausing };
    return home.contextOf({ ...own, ...ledger, signal, wait, service: null, project: null }, open);
  };
  const serviceContext = (signal: AbortSignal): ServiceContext => {
    // First: without a configured service, no mirror is made.
    const upstream = { service: service.open(), project: mirroredProject(settings, apiKey) };
    return { ...localContext(signal), ...upstream };
  };
  const hasService = apiKey !== null && settings.service.baseUrl !== null && settings.service.projectId !== null;
  return {
    name,
    settings,
    hasApiKey: apiKey !== null,
    keyFrom,
    unused: () => (given.cluster.storage === null ? unusedFolders(loaded.folders) : []),
    clock,
    database: connections.mirror,
    databaseReadOnly: connections.readOnly,
    service: service.open,
    hasService,
    signers,
    jobContext: hasService ? serviceContext : localContext,
    serviceContext,
    deprecation: service.deprecation,
    budget: service.budget,
    take: home.take,
    giveUp: () => home.giveUp(connections),
    clusterDatabase: cluster,
    shared: shared && {
      ...shared,
      lose: () => {
        connections.disconnect();
        return shared.lose();
      },
    },
    [Symbol.asyncDispose]: async () => {
      await service.close();
      connections.disconnect();
      await home.close();
      await storage?.holdings.close();
      await cluster?.close();
      await tracer.close();
    },
  };
}

/** The keys that sign the ledger from outside of the data folder, the present one first. */
function outsideSigners(
  { audit }: Settings,
  { secrets, environment }: { secrets: Pick<Secrets, 'signingKeys'>; environment: Environment },
): OutsideSigner[] {
  const programs = [audit.signer, audit.nextSigner].filter((signer) => signer !== null);
  return [
    ...programs.map(({ command, publicKey }) =>
      commandSigner({ command, publicKey: Buffer.from(publicKey, 'base64'), environment }),
    ),
    ...secrets.signingKeys.map(seedSigner),
  ];
}
