import type { App } from './app/app.ts';
import { oldNode } from './core/needed-node.ts';

if (oldNode !== undefined) throw new Error(`${oldNode}; install a newer Node`);

// Loaded after that: an older Node cannot read them, and its error would not name the cause.
const {
  AppError: ProgramError,
  createApp,
  listCurrentSnapshots,
  mirroredDatasets,
  openDatabaseReadOnly,
  pagedDatasets,
  publishedDatasets,
  publishedFilesIn,
  runExportJob,
  runSyncJob,
} = await import('./library-parts.ts');

// What programs may build on: this file is the package's entry. Its types name nothing of other files, so that the rest of the
// program can change.

/** Where the settings come from: the same places as on the command line. */
export type MirrorOptions = {
  /** The variables to read, as `MIRROR_BASE_URL`. By default there are none: pass those of the process. */
  environment?: Readonly<Record<string, string | undefined>>;
  /** A configuration file. */
  configFile?: string;
  /** The project, where several are configured. */
  project?: string;
  /** Single settings by their path, as `{ 'persons.pageSize': 500 }`. They win over every other source. */
  settings?: Readonly<Record<string, unknown>>;
};

/** A mirror. Nothing is read or written before it is used. */
export type Mirror = {
  /** The data folder; `mirror.db` in it is an SQLite file that any client may read. */
  readonly dataDir: string;
  /** Ends runs that are under way, as their signal would, then the connections. Has to be called once, at the end. */
  close(): Promise<void>;
};

/** Which lists to sync, and how. */
export type SyncOptions = {
  /** By default `persons` and `recordings`. */
  datasets?: readonly ('persons' | 'recordings' | 'playlists')[];
  /** `full`, the default, walks to the end of a list. `head` stops at rows that are known and unchanged. */
  mode?: 'full' | 'head';
  /** Ends the pass. What was stored is kept, and the next pass goes on there. */
  signal?: AbortSignal;
};

/** One pass over one list. Only a complete pass has seen every row that was in the list during the whole pass. */
export type Pass = {
  dataset: 'persons' | 'recordings' | 'playlists';
  verdict: 'complete' | 'incomplete' | 'running' | 'unfinished';
  /** Why the pass is not complete; null if it is. */
  reason: string | null;
  rowsReceived: number;
  rowsAdded: number;
  rowsChanged: number;
};

/** The snapshot of a dataset that readers should load: a full one and the deltas that continue it, oldest first. */
export type Snapshot = {
  dataset: string;
  snapshotId: string;
  kind: 'full' | 'delta';
  createdAt: string;
  rows: number;
  /** The paths, rows and bytes of its Parquet files, and the SHA-256 of each in hexadecimal digits. */
  files: { path: string; rows: number; bytes: number; sha256: string }[];
};

/** What to publish, and how. */
export type ExportOptions = {
  /** By default all. */
  datasets?: readonly (
    | 'persons'
    | 'recordings'
    | 'distinct_ids'
    | 'playlists'
    | 'playlist_recordings'
    | 'deletions'
    | 'passes'
    | 'fence'
  )[];
  /** `full`, the default, writes whole files; `delta` what has changed since the newest snapshot. */
  kind?: 'full' | 'delta';
  signal?: AbortSignal;
};

/** What was published. */
export type Exported = {
  /** Whether each snapshot is of a complete pass, none is missing, and a bucket and a catalog, where there are some, have followed. */
  isComplete: boolean;
  /** The datasets that were not published, since no full pass over their list has ever been complete. */
  neverComplete: string[];
  /** What readers should load now. */
  snapshots: Snapshot[];
};

/** The error that the functions here throw. `code`: what kind it is, as exit codes tell it; `hint`: what to do about it. */
export type AppError = Error & { readonly code: string; readonly hint: string | undefined };

/** The class of that error, for `instanceof`. */
export const AppError: abstract new (message: string, detail: { code: never }) => AppError = ProgramError;

/** The program of an open mirror, and its runs that are under way, each with what ends it. */
type Opened = { app: App; runs: Map<() => void, Promise<unknown>> };

const opened = new WeakMap<Mirror, Opened>();

/** Reads the settings of a mirror. Throws an error with the `code` `usage` that names every problem. */
export function openMirror({ environment = {}, configFile, project, settings = {} }: MirrorOptions = {}): Mirror {
  const set = Object.entries(settings).map(([path, value]) => ({ path, value }));
  const app = createApp({ environment, isTerminal: false }, { configFile, project, set });
  const runs: Opened['runs'] = new Map();
  const mirror: Mirror = {
    dataDir: app.settings.dataDir,
    close: async () => {
      opened.delete(mirror);
      for (const end of runs.keys()) end();
      await Promise.allSettled(runs.values());
      await app[Symbol.asyncDispose]();
    },
  };
  opened.set(mirror, { app, runs });
  return mirror;
}

/**
 * Makes one pass over each list, as `analytics-mirror sync` does. Throws an error with a `code`: `busy` while another run has
 * the data folder, `refused` where the service refuses the key, `interrupted` after the signal, and others.
 */
export async function sync(mirror: Mirror, options: SyncOptions = {}): Promise<Pass[]> {
  const { datasets = pagedDatasets, mode = 'full', signal } = options;
  refuseUnknown('dataset', datasets, mirroredDatasets);
  refuseUnknown('mode', [mode], ['full', 'head']);
  const { passes } = await run(mirror, signal, async (app, stop) => {
    await app.take('sync');
    return runSyncJob(app.serviceContext(stop), { datasets, mode, resume: true });
  });
  return passes.map(({ dataset, verdict, reason, rowsReceived, rowsAdded, rowsChanged }) => {
    return { dataset, verdict, reason, rowsReceived, rowsAdded, rowsChanged };
  });
}

/**
 * Publishes one snapshot of each dataset, as `analytics-mirror export` does. Throws an error with a `code`: `busy` while another run
 * has the data folder, `storage` where there is no mirror yet, and others.
 */
export async function exportSnapshots(mirror: Mirror, options: ExportOptions = {}): Promise<Exported> {
  const { datasets = null, kind = 'full', signal } = options;
  refuseUnknown('dataset', datasets ?? [], publishedDatasets);
  refuseUnknown('kind', [kind], ['full', 'delta']);
  const { outcome, neverComplete } = await run(mirror, signal, async (app, stop) => {
    await app.take('export');
    // First: opening the mirror for writing would make one where there is none.
    using source = openDatabaseReadOnly(app.settings.dataDir);
    return await runExportJob(app.jobContext(stop), { datasets, kind, source });
  });
  return { isComplete: outcome === 'done', neverComplete, snapshots: snapshots(mirror) };
}

/** The published snapshots that readers should load. Throws an error with the `code` `storage` where a manifest is damaged. */
export function snapshots(mirror: Mirror): Snapshot[] {
  return listCurrentSnapshots(publishedFilesIn(openedAs(mirror).app.settings.dataDir));
}

/** Does some work until the caller's signal is aborted, or the mirror closed; then it ends with `interrupted`, whatever the signal's own reason. */
async function run<T>(
  mirror: Mirror,
  signal: AbortSignal | undefined,
  work: (app: App, stop: AbortSignal) => Promise<T>,
): Promise<T> {
  const { app, runs } = openedAs(mirror);
  const stop = new AbortController();
  const end = (): void => stop.abort(new ProgramError('interrupted', { code: 'interrupted' }));
  signal?.addEventListener('abort', end);
  if (signal?.aborted === true) end();
  const running = work(app, stop.signal);
  runs.set(end, running);
  try {
    return await running;
  } finally {
    runs.delete(end);
    signal?.removeEventListener('abort', end);
  }
}

/** Throws `usage` for what no type of this file allows: not every caller has them checked. */
function refuseUnknown(what: string, given: readonly unknown[], known: readonly string[]): void {
  if (Array.isArray(given) && given.every((each) => known.some((one) => one === each))) return;
  throw new ProgramError(`unknown ${what}: ${JSON.stringify(given)}`, {
    code: 'usage',
    hint: `${what === 'dataset' ? 'a list of' : 'one of'} ${known.join(', ')}`,
  });
}

function openedAs(mirror: Mirror): Opened {
  const found = opened.get(mirror);
  if (found) return found;
  throw new ProgramError('the mirror is closed, or was not opened with openMirror', { code: 'usage' });
}
