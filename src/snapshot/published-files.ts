import { constants, copyFileSync, existsSync, readdirSync } from 'node:fs';
import { renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { AppError, usageError } from '../core/errors.ts';
import { replaceFile } from '../core/atomic-file.ts';
import { syncToDisk } from '../core/open-file.ts';
import { measureFileNow, sha256 } from '../core/digest.ts';
import {
  entriesBelow,
  isDraft,
  isRegularFile,
  makeFolder,
  pathBelow,
  readWholeFile,
  realPath,
  temporaryFolder,
  wholeFileBytesMax,
} from '../core/folder.ts';
import { type SnapshotName, manifestName, snapshotIdPattern } from './file-names.ts';
import { Current, Manifest, parseFile, snapshotOf } from './manifest.ts';
import { storageError } from './storage-error.ts';

/** A snapshot that has files. One without a manifest was never published, unless CURRENT names it. */
export type FoundSnapshot = { id: string; hasManifest: boolean };

/**
 * The door to the published files. Exports, searches, rewrites and checks reach them through it only, so that nothing else
 * knows that they lie in a folder. Every change is durable when its call returns, and each call is one step: the order of
 * the steps (`publish.ts`) is what keeps readers safe. Changes are synchronous: a snapshot is published inside a
 * transaction of the mirror. A copy elsewhere can follow, step by step. Unless said otherwise, calls throw the system's
 * error.
 */
export type PublishedFiles = {
  /** The place of the files, as errors name it. */
  readonly location: string;
  /** The local folder below which every published file can be read: what DuckDB may be given to read. */
  readonly localFolder: string;
  /** The same folder without links: one path by whichever it is reached. */
  realFolder(): string;
} & PublishedReads &
  PublishedChanges;

/** What can be read of the published files. */
type PublishedReads = {
  /** The snapshots of a dataset, oldest first. What is not named as a snapshot is not listed. */
  listSnapshots(dataset: string): FoundSnapshot[];
  /** The names of all files of a snapshot; none where there is no such snapshot. */
  listFiles(snapshot: SnapshotName): string[];
  /** Every file of the folder, drafts left out: what a copy elsewhere has to hold. */
  listPaths(): PublishedPath[];
  /** Whether CURRENT is there. */
  hasCurrent(): boolean;
  /** What is published; nothing where nothing ever was. Throws `storage` when CURRENT is damaged. */
  readCurrent(): Current;
  /** The manifest of a snapshot. Throws `storage` when it is missing or damaged. */
  readManifest(snapshot: SnapshotName): Manifest;
  /** SHA-256 of the bytes of a snapshot's manifest; null where there is none. */
  digestOfManifest(snapshot: SnapshotName): string | null;
  /** A local path of a file, since DuckDB reads local files only. There may be no file. */
  localPath(snapshot: SnapshotName, name: string): string;
  /** The content of a small file; undefined when it is missing. Throws `storage` for one that no program like this wrote. */
  readFile(snapshot: SnapshotName, name: string): Buffer | undefined;
  /** The bytes of a file and their SHA-256; undefined when it is missing. */
  measure(snapshot: SnapshotName, name: string): { bytes: number; sha256: string } | undefined;
  /** Bytes of a file; undefined when it is missing. */
  sizeOf(snapshot: SnapshotName, name: string): number | undefined;
  /** Whether anything was done to a part after its manifest: since that was written, or since `noteWhole`. */
  isTouched(snapshot: SnapshotName, name: string): boolean;
};

/** What can be done to the published files. */
type PublishedChanges = {
  /** Notes that the parts of a snapshot are what its manifest says, so that none counts as touched before it is again. */
  noteWhole(snapshot: SnapshotName): void;
  /** Makes an empty local folder for new parts, and returns its path. No reader looks there; it need not be durable. */
  openDraft(snapshot: SnapshotName): string;
  /** Makes the draft a new snapshot, which no reader finds before it has a manifest and CURRENT names it. */
  addSnapshot(snapshot: SnapshotName, names: readonly string[]): void;
  /** Moves parts from the draft to a snapshot that is there. No reader finds them before the manifest names them. */
  addParts(snapshot: SnapshotName, names: readonly string[]): void;
  /** Copies a file of a published snapshot to a path in a draft. */
  copyFile(snapshot: SnapshotName, name: string, to: string): void;
  /** Writes a small file, or replaces it whole, in a folder that is made for it. */
  writeFile(snapshot: SnapshotName, name: string, content: Buffer): void;
  /** Writes a snapshot's manifest, or replaces it whole. On an error the old manifest is as it was. */
  writeManifest(manifest: Manifest): void;
  /** Replaces CURRENT whole. On an error it is as it was. */
  writeCurrent(current: Current): void;
  removeFiles(snapshot: SnapshotName, names: readonly string[]): void;
  /** Deletes snapshots. Each is gone for readers at once, before its files are deleted. */
  removeSnapshots(dataset: string, snapshotIds: readonly string[]): void;
  removeDraft(snapshot: SnapshotName): void;
  /** Deletes every draft of a dataset and of CURRENT, and what is left of snapshots whose removal was cut off. */
  removeDrafts(dataset: string): void;
};

/** A file by its path below the folder of snapshots, with slashes; where it can be read from; and its bytes. */
type PublishedPath = { path: string; from: string; bytes: number };

/** A file of a snapshot. */
export type PublishedFile = SnapshotName & { readonly name: string };

/** Where a published file lies, relative to the data folder. */
export function placeOf({ dataset, snapshotId, name }: PublishedFile): string {
  return `snapshots/${dataset}/${snapshotId}/${name}`;
}

/** The published file that a place relative to the data folder is of, whether it is there or not. */
export function publishedFileAt(place: string): PublishedFile | undefined {
  const [, dataset, snapshotId, name] = /^snapshots\/([a-z_]+)\/([^/]+)\/([^/]+)$/.exec(place) ?? [];
  return dataset && snapshotId && name ? { dataset, snapshotId, name } : undefined;
}

/** Where CURRENT lies, relative to the data folder. */
export const currentPlace = 'snapshots/CURRENT.json';

/** The published files of a data folder. Opens and makes nothing by itself. */
export function publishedFilesIn(dataDir: string): PublishedFiles {
  const layout = layoutOf(dataDir);
  return {
    location: dataDir,
    localFolder: layout.root,
    realFolder: () => realPath(layout.root),
    ...readsOf(layout),
    ...changesOf(layout),
  };
}

/** Where the files of a data folder lie. */
type Layout = ReturnType<typeof layoutOf>;

function layoutOf(dataDir: string) {
  const root = join(dataDir, 'snapshots');
  const temporary = temporaryFolder(dataDir);
  const temporaryPrefix = (dataset: string): string => `snapshot-${dataset}-`;
  return {
    root,
    temporary,
    temporaryPrefix,
    currentPath: join(dataDir, currentPlace),
    datasetFolder: (dataset: string): string => join(root, dataset),
    folderOf: ({ dataset, snapshotId }: SnapshotName): string => join(root, dataset, snapshotId),
    draftOf: ({ dataset, snapshotId }: SnapshotName): string =>
      join(temporary, `${temporaryPrefix(dataset)}${snapshotId}`),
  };
}

function readsOf({ root, currentPath, datasetFolder, folderOf }: Layout): PublishedReads {
  return {
    listSnapshots: (dataset) =>
      namesIn(datasetFolder(dataset))
        .filter((name) => snapshotIdPattern.test(name))
        .toSorted()
        .map((id) => ({ id, hasManifest: existsSync(join(root, dataset, id, manifestName)) })),
    listFiles: (snapshot) => namesIn(folderOf(snapshot)),
    listPaths: () =>
      entriesBelow(root)
        .filter((entry) => entry.isFile() && !isDraft(entry.name))
        .map((entry) => {
          const path = pathBelow(root, entry);
          const from = join(root, path);
          return { path, from, bytes: statSync(from).size };
        })
        .toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    hasCurrent: () => existsSync(currentPath),
    readCurrent: () => {
      if (!existsSync(currentPath)) return { format_version: 1, snapshots: {} };
      const hint = 'restore it from a backup; or delete it and export every dataset again';
      return parseFile(Current, { path: currentPath, text: readText(currentPath), hint });
    },
    readManifest: (snapshot) => {
      const path = join(folderOf(snapshot), manifestName);
      return parseFile(Manifest, { path, text: readText(path), hint: `export ${snapshot.dataset} again` });
    },
    digestOfManifest: (snapshot) => {
      const path = join(folderOf(snapshot), manifestName);
      if (!existsSync(path)) return null;
      // What is larger is no manifest of this program, and has the digest of none.
      return statSync(path).size > wholeFileBytesMax ? '' : sha256(readWholeFile(path));
    },
    localPath: (snapshot, name) => join(folderOf(snapshot), name),
    readFile: (snapshot, name) => {
      const path = join(folderOf(snapshot), name);
      return isRegularFile(path) ? readWholeFile(path) : undefined;
    },
    measure: (snapshot, name) => {
      const path = join(folderOf(snapshot), name);
      return isRegularFile(path) ? measureFileNow(path) : undefined;
    },
    sizeOf: (snapshot, name) => statSync(join(folderOf(snapshot), name), { throwIfNoEntry: false })?.size,
    // By the times of their inodes: unlike those of their contents, nobody can set them.
    isTouched: (snapshot, name) => {
      const [part = 0, manifest = 0] = [name, manifestName].map(
        (each) => statSync(join(folderOf(snapshot), each), { throwIfNoEntry: false })?.ctimeMs,
      );
      return part > manifest;
    },
  };
}

function changesOf(layout: Layout): PublishedChanges {
  const { root, temporary, temporaryPrefix, currentPath, datasetFolder, folderOf, draftOf } = layout;
  return {
    noteWhole: (snapshot) => {
      const path = join(folderOf(snapshot), manifestName);
      const { atime, mtime } = statSync(path);
      utimesSync(path, atime, mtime);
    },
    openDraft: (snapshot) => {
      const draft = draftOf(snapshot);
      rmSync(draft, { recursive: true, force: true });
      makeFolder(draft);
      return draft;
    },
    addSnapshot: (snapshot, names) => {
      const draft = draftOf(snapshot);
      for (const name of names) syncToDisk(join(draft, name));
      syncToDisk(draft);
      makeFolder(datasetFolder(snapshot.dataset));
      renameSync(draft, folderOf(snapshot));
      syncToDisk(datasetFolder(snapshot.dataset));
    },
    addParts: (snapshot, names) => {
      for (const name of names) {
        const path = join(draftOf(snapshot), name);
        syncToDisk(path);
        renameSync(path, join(folderOf(snapshot), name));
      }
      syncToDisk(folderOf(snapshot));
    },
    copyFile: (snapshot, name, to) => copyFileSync(join(folderOf(snapshot), name), to, constants.COPYFILE_FICLONE),
    writeFile: (snapshot, name, content) => {
      const folder = folderOf(snapshot);
      makeFolder(folder);
      replaceFile(join(folder, name), readable(content));
    },
    writeManifest: (manifest) =>
      replaceFile(join(folderOf(snapshotOf(manifest)), manifestName), readable(fileText(manifest))),
    writeCurrent: (current) => replaceFile(currentPath, fileText(current)),
    removeFiles: (snapshot, names) => {
      if (names.length === 0) return;
      for (const name of names) rmSync(join(folderOf(snapshot), name));
      syncToDisk(folderOf(snapshot));
    },
    removeSnapshots: (dataset, snapshotIds) => {
      if (snapshotIds.length === 0) return;
      for (const snapshotId of snapshotIds) {
        const grave = `${draftOf({ dataset, snapshotId })}.removed`;
        rmSync(grave, { recursive: true, force: true });
        renameSync(folderOf({ dataset, snapshotId }), grave);
        rmSync(grave, { recursive: true });
      }
      syncToDisk(datasetFolder(dataset));
      syncToDisk(temporary);
    },
    removeDraft: (snapshot) => rmSync(draftOf(snapshot), { recursive: true, force: true }),
    removeDrafts: (dataset) => {
      makeFolder(temporary);
      for (const name of readdirSync(temporary))
        if (name.startsWith(temporaryPrefix(dataset))) rmSync(join(temporary, name), { recursive: true });
      for (const name of namesIn(root)) if (isDraft(name)) rmSync(join(root, name), { recursive: true, force: true });
    },
  };
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

function readText(path: string): string {
  try {
    return readWholeFile(path).toString();
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw storageError(`read ${path}`, error);
  }
}

/** The text of a manifest's file, or of CURRENT's. */
export function fileText(content: Manifest | Current): string {
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** What is read whole wherever it is read. Throws `usage`, with the fix, where it would be too large for that. */
function readable<T extends string | Buffer>(content: T): T {
  if (Buffer.byteLength(content) <= wholeFileBytesMax) return content;
  throw usageError(
    'the list of the published parts would be larger than any that is read',
    'raise export.partRows, so that there are fewer parts, or shorten export.publicRoot',
  );
}
