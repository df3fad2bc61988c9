import type { Settings } from '../config/settings.ts';
import { AppError } from '../core/errors.ts';
import type { ProjectHome } from '../job/project-home.ts';
import type { Destination } from '../bucket/bucket.ts';
import { schemaVersion } from '../mirror/migrate.ts';
import type { ClusterDatabase } from './cluster-database.ts';
import { lockFolder, hasLocalCopy, readLocalCopy } from './local-copy.ts';
import type { HeldProject, SharedStorage } from './held-project.ts';
import type { SharedProject } from './holding-rows.ts';
import { openHoldings, type Holdings } from './holdings.ts';
import { reportElsewhere, type ElsewhereReport } from './roster.ts';
import type { StateSetup } from './project-state.ts';
import { hostname } from 'node:os';
import { sha256 } from '../core/digest.ts';

/** What a process needs to hold projects; null where the settings name no storage. Nothing is opened yet. */
export function openStorage(
  { storage, machine }: Settings['cluster'],
  { database, address, key }: { database: ClusterDatabase | null; address: string | null; key: Buffer | null },
): SharedStorage | null {
  if (storage === null || !database || address === null || !key) return null;
  const setup = { database, address, machine: machine ?? machineName(), schema: schemaVersion() };
  return { holdings: openHoldings(setup), database, key };
}

/** The home of a project whose state is in the bucket of a cluster. */
export type ClusterHome = ProjectHome & {
  /** How all machines name the project, and what takes it here. */
  project: SharedProject;
  holdings: Holdings;
  /** Closes a project that is lost. The copy stays: it may still be the newest state. */
  lose: () => Promise<void>;
  /** Deletes the copy, if there is one, of a project that another machine holds. Throws `busy` while a process of this machine works in it. */
  clear: () => Promise<void>;
  /** Whether there is a copy, or what is left of one. */
  hasCopy: () => boolean;
  /**
   * What the cluster says of the project where this machine does not hold it: a copy here may be older. Null where it does, or where
   * there is a copy and nobody can be asked. Throws where there is none.
   */
  elsewhere: () => Promise<ElsewhereReport | null>;
};

/** A command waits so long for a project, unless it waits until it has it. A holder notices within seconds, and then commits. */
const patienceMs = 20_000;

/** `given`: the settings of the project. `wait`: whether a command waits until it has the project. */
type HomeSetup = { name: string; given: Settings; wait: boolean | undefined } & Pick<StateSetup, 'clock' | 'signers'>;

/** The home of a project; null where the settings name no place that machines share. */
export function openClusterHome(storage: SharedStorage | null, setup: HomeSetup): ClusterHome | null {
  const { name, given } = setup;
  const project = sharedProject(name, given.service);
  const { settings, place } = placeOf(given, project);
  return storage && place ? homeIn(storage, { ...setup, project, settings, place }) : null;
}

function homeIn(
  storage: SharedStorage,
  setup: HomeSetup & { project: SharedProject; settings: Settings; place: Destination },
): ClusterHome {
  const { project, settings, place, clock } = setup;
  const { dataDir, retry } = settings;
  const { holdings, key } = storage;
  let held: HeldProject | undefined;
  const elsewhere = async (): Promise<ElsewhereReport | null> => {
    const isCopyWhole = readLocalCopy(dataDir)?.isWhole === true;
    try {
      const report = await reportElsewhere(storage.database, project);
      return isCopyWhole && report.holder?.machine === holdings.machine ? null : report;
    } catch (error) {
      if (isCopyWhole && error instanceof AppError) return null;
      throw error;
    }
  };
  const end = async (how: (project: HeldProject) => Promise<void>): Promise<void> => {
    if (held) await how(held);
    held = undefined;
  };
  return {
    settings,
    isCopy: true,
    project,
    holdings,
    check: () => held?.check(),
    lose: () => end((project) => project.release()),
    clear: async () => {
      if (held) return;
      const { endOvertaken } = await loadHolding();
      using _lock = lockFolder(dataDir);
      await endOvertaken({ place, key, dataDir }, { clock, retry });
    },
    hasCopy: () => hasLocalCopy(dataDir),
    elsewhere,
    take: async (purpose, how = 'to write', more = {}) => {
      if (how === 'to read' && !held && (await elsewhere()) === null) return null;
      return (held ??= await takeProject(storage, { ...setup, purpose, how, ...more }));
    },
    contextOf: (context, open) => {
      if (!held) throw new Error('a job of a project that is not held');
      const { store, checked, signal, state: remote } = held;
      return {
        ...context,
        signal: AbortSignal.any([context.signal, signal]),
        ledger: () => checked(open.now(store)),
        openLedger: async (stop) => checked(await open.pausing(stop, store)),
        remote,
      };
    },
    giveUp: ({ mirror, disconnect }) =>
      end(async (project) => {
        await project.state.commit(mirror());
        disconnect();
        await project.giveUp();
      }),
    close: () => end((project) => (project.isFresh ? project.giveUp() : project.release())),
  };
}

const readThere = 'run the command on that machine; or add --wait, and the project is fetched here, and given back';

/** What holds a project loads much: only for those who need it. */
const loadHolding = () => import('./held-project.ts');

/**
 * Takes a project, and asks its holder for it for a while. Who only reads asks for nothing: the holder has what is to be read, and a
 * project that changes hands is fetched whole, twice.
 */
async function takeProject(
  storage: SharedStorage,
  {
    project,
    purpose,
    how,
    importFrom,
    signal,
    wait,
    ...more
  }: HomeSetup & { project: SharedProject; settings: Settings; place: Destination } & {
    purpose: string;
    how: 'to write' | 'to read';
    importFrom?: string;
    signal?: AbortSignal;
  },
): Promise<HeldProject> {
  const { clock } = more;
  const untilMs = wait ? Infinity : clock.now() + patienceMs;
  for (;;) {
    try {
      const { holdProject } = await loadHolding();
      return await holdProject(storage, { project, purpose, importFrom }, more);
    } catch (error) {
      const isBusy = error instanceof AppError && error.code === 'busy';
      if (isBusy && how === 'to read' && !wait) throw new AppError(error.message, { code: 'busy', hint: readThere });
      if (!isBusy || purpose === 'worker' || clock.now() >= untilMs) throw error;
    }
    await storage.holdings.want(project.id, purpose);
    await clock.sleep(1_000, signal);
  }
}

/** The name of this machine where the settings give none: that of its host, as far as a machine may be named so. */
function machineName(): string {
  const name = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 63);
  return name === '' ? 'machine' : name;
}

/** A project as all machines name it, whatever their configuration calls it: one whose service has moved is the same. */
export function sharedProject(
  name: string,
  { baseUrl, movedFrom, projectId }: Pick<Settings['service'], 'baseUrl' | 'movedFrom' | 'projectId'>,
): SharedProject {
  const address = movedFrom ?? baseUrl;
  const service = address === null ? null : new URL(address).origin;
  return { id: sha256(JSON.stringify(projectId === null ? [name] : [service, projectId])).slice(0, 32), name };
}

/**
 * Where the state of a project stands in the bucket of a cluster; null where the settings name none. Published files are followed
 * there too, unless the settings name another place for them.
 */
function placeOf(
  settings: Settings,
  { id }: Pick<SharedProject, 'id'>,
): { settings: Settings; place: Destination | null } {
  const { storage, s3 } = settings.cluster;
  if (storage === null) return { settings, place: null };
  const location = `${storage}/${id}`;
  const own = { ...settings.export, destination: `${location}/published`, s3 };
  return {
    settings: settings.export.destination === null ? { ...settings, export: own } : settings,
    place: { location, ...s3 },
  };
}
