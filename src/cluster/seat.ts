import type { Settings } from '../config/settings.ts';
import { AppError } from '../core/errors.ts';
import type { JobContext } from '../job/job-context.ts';
import type { EntryStore, Ledger } from '../ledger/ledger.ts';
import type { Database } from '../mirror/database.ts';
import type { ClusterDatabase } from './cluster-database.ts';
import { openCopies } from './copies.ts';
import { lockFolder } from './folder-lock.ts';
import type { HeldProject, SharedStorage } from './held-project.ts';
import type { SharedProject } from './holding-rows.ts';
import { openHoldings, type Holdings } from './holdings.ts';
import { deleteLocalCopy, readLocalCopy } from './local-copy.ts';
import type { StateSetup } from './project-state.ts';
import { schemaVersion } from '../mirror/migrate.ts';
import { machineName, placeOf, sharedProject } from './shared-project.ts';

/** What a process needs to hold projects; null where the settings name no storage. Nothing is opened yet. */
export function openStorage(
  { storage, machine }: Settings['cluster'],
  { database, address, key }: { database: ClusterDatabase | null; address: string | null; key: Buffer | null },
): SharedStorage | null {
  if (storage === null || !database || address === null || !key) return null;
  const setup = { database, address, machine: machine ?? machineName(), schema: schemaVersion() };
  return { holdings: openHoldings(setup), copies: openCopies(database), key };
}

/** Opens a ledger over a store of its entries, at once or while other work goes on. */
export type OpenLedger = {
  now: (store?: EntryStore) => Ledger;
  pausing: (stop: AbortSignal, store?: EntryStore) => Promise<Ledger>;
};

/** A project's place among those that its machine may hold. */
export type Seat = {
  /** As given; the published files are followed beside the state, unless another place is named for them. */
  settings: Settings;
  /** Whether the state of the project is in the bucket of a cluster. */
  isShared: boolean;
  /** Takes the project, unless it is held or not shared, and makes the data folder its newest state. To read, any whole copy will do. */
  hold: (
    purpose: string,
    how?: 'to write' | 'to read',
    more?: { signal?: AbortSignal; importFrom?: string },
  ) => Promise<Pick<HeldProject, 'token' | 'signal' | 'isFresh'> | null>;
  /** The context of a job on the held project. Throws for a shared project that is not held. */
  joined: (context: JobContext, open: OpenLedger) => JobContext;
  /** Of a shared project: how all machines name it, and what takes it here. */
  shared: { project: SharedProject; holdings: Holdings } | null;
  /** Throws `busy` where the project is held, but another machine may have taken it. */
  check: () => void;
  /** Commits, deletes the copy, and lets others take the project. */
  giveUp: (openMirror: () => Database, disconnect: () => void) => Promise<void>;
  /** Closes a project that is lost. The copy stays: it may still be the newest state. */
  lose: () => Promise<void>;
  /** Deletes the copy, if there is one, of a project that another machine holds. Throws `busy` while a process of this machine works in it. */
  clear: () => Promise<void>;
  /** Lets others take the project. A copy that was made for a command goes. */
  close: () => Promise<void>;
};

/** A command waits so long for a project, unless it waits until it has it. A holder notices within seconds, and then commits. */
const patienceMs = 20_000;

/** `given`: the settings of the project. `wait`: whether a command waits until it has the project. */
type SeatSetup = { name: string; given: Settings; wait: boolean | undefined } & Pick<StateSetup, 'clock' | 'signers'>;

/** The seat of a project. `storage` is null where none is shared. */
export function openSeat(storage: SharedStorage | null, { name, given, clock, wait, signers }: SeatSetup): Seat {
  const project = sharedProject(name, given.service);
  const { settings, place } = placeOf(given, project);
  let held: HeldProject | undefined;
  return {
    settings,
    isShared: place !== null,
    shared: storage && place ? { project, holdings: storage.holdings } : null,
    check: () => held?.check(),
    lose: async () => {
      await held?.release();
      held = undefined;
    },
    clear: async () => {
      if (held || !storage || !place) return;
      {
        using _lock = lockFolder(settings.dataDir);
        if (readLocalCopy(settings.dataDir)) deleteLocalCopy(settings.dataDir);
      }
      await storage.copies.forget(project.id, storage.holdings.machine);
    },
    hold: async (purpose, how = 'to write', { signal, importFrom } = {}) => {
      if (!place || !storage || (how === 'to read' && readLocalCopy(settings.dataDir)?.isWhole)) return null;
      if (held) return held;
      const untilMs = wait ? Infinity : clock.now() + patienceMs;
      for (;;) {
        try {
          // Loaded for those who need it.
          const loaded = import('./held-project.ts').then(({ holdProject }) =>
            holdProject(storage, { project, purpose, importFrom }, { place, settings, clock, signers }),
          );
          return (held = await loaded);
        } catch (error) {
          const isBusy = error instanceof AppError && error.code === 'busy';
          if (!isBusy || purpose === 'worker' || clock.now() >= untilMs) throw error;
        }
        await storage.holdings.want(project.id, purpose);
        await clock.sleep(1_000, signal);
      }
    },
    joined: (context, open) => {
      if (!place) return context;
      if (!held) throw new Error('a job of a project that is not held');
      const { store, checked, state } = held;
      return {
        ...context,
        signal: AbortSignal.any([context.signal, held.signal]),
        ledger: () => checked(open.now(store)),
        openLedger: async (stop) => checked(await open.pausing(stop, store)),
        state,
      };
    },
    giveUp: async (openMirror, disconnect) => {
      if (!held) return;
      await held.state.commit(openMirror());
      disconnect();
      await held.giveUp();
      held = undefined;
    },
    close: async () => {
      await (held?.isFresh ? held.giveUp() : held?.release());
      held = undefined;
    },
  };
}
