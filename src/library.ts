import type { App } from './app/app.ts';
import { oldNode } from './core/needed-node.ts';

if (oldNode !== undefined) throw new Error(`${oldNode}; install a newer Node`);

// Loaded after that: an older Node cannot read them, and its error would not name the cause.
const {
  AppError: ProgramError,
  createApp,
  listCurrentSnapshots,
  mirroredDatasets,
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
  /** Ends connections. Has to be called once, at the end. */
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

const apps = new WeakMap<Mirror, App>();

/** Reads the settings of a mirror. Throws an error with the `code` `usage` that names every problem. */
export function openMirror({ environment = {}, configFile, project, settings = {} }: MirrorOptions = {}): Mirror {
  const set = Object.entries(settings).map(([path, value]) => ({ path, value }));
  const app = createApp({ environment, isTerminal: false }, { configFile, project, set });
  const mirror: Mirror = { dataDir: app.settings.dataDir, close: () => app.close() };
  apps.set(mirror, app);
  return mirror;
}

/**
 * Makes one pass over each list, as `analytics-mirror sync` does. Throws an error with a `code`: `busy` while another run has
 * the data folder, `refused` where the service refuses the key, `interrupted` after the signal, and others.
 */
export async function sync(mirror: Mirror, options: SyncOptions = {}): Promise<Pass[]> {
  const { datasets = pagedDatasets, mode = 'full', signal } = options;
  refuseUnknown(datasets, mirroredDatasets);
  const app = appOf(mirror);
  await app.take('sync');
  const { passes } = await untilAborted(signal, (stop) =>
    runSyncJob(app.serviceContext(stop), { datasets, mode, resume: true }),
  );
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
  refuseUnknown(datasets ?? [], publishedDatasets);
  const app = appOf(mirror);
  await app.take('export');
  // First: opening the mirror for writing would make one where there is none.
  const source = app.databaseReadOnly();
  const { outcome, neverComplete } = await untilAborted(signal, (stop) =>
    runExportJob(app.jobContext(stop), { datasets, kind, source }),
  );
  return { isComplete: outcome === 'done', neverComplete, snapshots: snapshots(mirror) };
}

/** The published snapshots that readers should load. Throws an error with the `code` `storage` where a manifest is damaged. */
export function snapshots(mirror: Mirror): Snapshot[] {
  return listCurrentSnapshots(publishedFilesIn(appOf(mirror).settings.dataDir));
}

/** Does some work until the caller's signal is aborted; then it ends with `interrupted`, whatever the signal's own reason. */
async function untilAborted<T>(signal: AbortSignal | undefined, work: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const end = (): void => stop.abort(new ProgramError('interrupted', { code: 'interrupted' }));
  signal?.addEventListener('abort', end);
  if (signal?.aborted === true) end();
  try {
    return await work(stop.signal);
  } finally {
    signal?.removeEventListener('abort', end);
  }
}

function refuseUnknown(given: readonly string[], known: readonly string[]): void {
  const unknown = given.filter((dataset) => !known.includes(dataset));
  if (unknown.length > 0)
    throw new ProgramError(`unknown dataset: ${unknown.join(', ')}`, {
      code: 'usage',
      hint: `one of ${known.join(', ')}`,
    });
}

function appOf(mirror: Mirror): App {
  const app = apps.get(mirror);
  if (!app) throw new TypeError('the mirror was not opened with openMirror');
  return app;
}
