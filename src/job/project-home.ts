import type { Settings } from '../config/settings.ts';
import type { EntryStore, Ledger } from '../ledger/ledger.ts';
import type { Database } from '../mirror/database.ts';
import type { JobContext } from './job-context.ts';

/** Opens a ledger over a store of its entries, at once or while other work goes on. */
export type OpenLedger = {
  now: (store?: EntryStore) => Ledger;
  pausing: (stop: AbortSignal, store?: EntryStore) => Promise<Ledger>;
};

/** The open mirror of a project, and the end of all connections to it. */
export type OpenMirror = { mirror: () => Database; disconnect: () => void };

/** A project that this machine has taken from a place that several machines share. */
type TakenProject = {
  /** Which of all holdings of this project it is, in their order: a later one has a larger number. */
  token: number;
  /** Aborted once another machine may hold the project. */
  signal: AbortSignal;
};

/**
 * The home of a project: its data folder, which may be a copy of a state that several machines share, and that one of them at a
 * time may change. A job knows of it only what its context says.
 */
export type ProjectHome = {
  /** The settings of the project, with what its home adds to them. */
  settings: Settings;
  /** Whether the data folder is a copy that comes and goes. */
  isCopy: boolean;
  /**
   * Takes the project, and makes the data folder its newest state. To read, any whole copy will do. Null where nothing has to be
   * taken. Rejects with `busy` while another machine holds the project.
   */
  take: (
    purpose: string,
    how?: 'to write' | 'to read',
    more?: { signal?: AbortSignal; importFrom?: string },
  ) => Promise<TakenProject | null>;
  /** Throws `busy` where the project was taken, but another machine may have it by now. */
  check: () => void;
  /** The context of a job in this home: where its ledger's entries are kept, and where its state is put. Throws where the project is not taken. */
  contextOf: (context: JobContext, open: OpenLedger) => JobContext;
  /** Puts the state where the next holder finds it, deletes the copy, and lets other machines take the project. */
  giveUp: (open: OpenMirror) => Promise<void>;
  /** Lets others take the project. A copy that was made for a command goes. */
  close: () => Promise<void>;
};

/** The home of a project that is on this machine only. */
export function localHome(settings: Settings): ProjectHome {
  return {
    settings,
    isCopy: false,
    take: () => Promise.resolve(null),
    check: () => undefined,
    contextOf: (context) => context,
    giveUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
