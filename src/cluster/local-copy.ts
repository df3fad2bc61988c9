import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../core/atomic-file.ts';
import { syncToDisk } from '../core/open-file.ts';
import { AppError } from '../core/errors.ts';
import { makeFolder, readRegularFile, temporaryFolder } from '../core/folder.ts';
import { lockFile } from '../mirror/file-lock.ts';

const name = 'copy.json';

/** What a machine notes of its copy of a project's state, in the data folder. */
const LocalCopy = z.strictObject({
  /** The place of the state, and the machine whose copy this is. */
  location: z.string(),
  machine: z.string(),
  /** The id of this copy, by which the ledger knows it. */
  copy: z.string(),
  /** Whether the copy was fetched whole. One that is not, or that another machine has overtaken, is deleted. */
  isWhole: z.boolean(),
  /** The commits of which one stands in the bucket: the last that was seen there, then those that were tried since. */
  commits: z.array(z.string()),
  committedAt: z.string().nullable(),
  /** The newest change of the lists that was committed then. */
  change: z.number(),
  /** Of the keys that were put there last, and which put that was. */
  keys: z.strictObject({ digest: z.string(), id: z.string() }).nullable(),
});
export type LocalCopy = z.infer<typeof LocalCopy>;

/** What is noted of the copy in a data folder; undefined where it is no copy. Throws `storage` where the note is damaged. */
export function readLocalCopy(dataDir: string): LocalCopy | undefined {
  const path = join(dataDir, name);
  const text = readRegularFile(path);
  if (text === undefined) return undefined;
  try {
    return LocalCopy.parse(JSON.parse(text));
  } catch (cause) {
    throw new AppError(`${path} is damaged`, {
      code: 'storage',
      hint: 'the data folder is a copy of what the bucket has: move it away, and start again',
      cause,
    });
  }
}

/** What is noted of a copy that is held. Throws `busy` where it is gone. */
export function localCopyOf(dataDir: string): LocalCopy {
  const note = readLocalCopy(dataDir);
  if (note) return note;
  throw new AppError(`the data folder ${dataDir} is no copy any more`, { code: 'busy', hint: 'run the command again' });
}

/** Whether a data folder is a copy, or has what is left of one. */
export function hasLocalCopy(dataDir: string): boolean {
  return existsSync(join(dataDir, name));
}

/** Notes what a data folder is a copy of. */
export function noteLocalCopy(dataDir: string, copy: LocalCopy): void {
  makeFolder(dataDir);
  replaceFile(join(dataDir, name), `${JSON.stringify(copy, null, 2)}\n`);
}

/** Whether a data folder holds a project. */
export function holdsProject(dataDir: string): boolean {
  return [...parts, 'keys', 'ledger', 'mirror.db', 'restore.key'].some((part) => existsSync(join(dataDir, part)));
}

const parts = ['snapshots', 'reports'];

/**
 * Deletes the copy of a project in a data folder. What this program has not put there stays, and so does the note: `forgetLocalCopy`
 * removes it, once it is said that the copy is gone. After a kill, the next call goes on.
 */
export function deleteLocalCopy(dataDir: string, note: LocalCopy): void {
  noteLocalCopy(dataDir, { ...note, isWhole: false });
  const isOwn = (each: string): boolean =>
    [...parts, 'keys', 'ledger', 'restore.key', 'tmp'].includes(each) || each.startsWith('mirror.');
  for (const each of readdirSync(dataDir).filter(isOwn)) rmSync(join(dataDir, each), { recursive: true, force: true });
  syncToDisk(dataDir);
}

/** Removes the note of a copy that is deleted. */
export function forgetLocalCopy(dataDir: string): void {
  rmSync(temporaryFolder(dataDir), { recursive: true, force: true });
  rmSync(join(dataDir, name), { force: true });
}

/** What a failure to lock is called where a machine's own processes are told from other machines. */
export const folderInUse = 'folder_in_use';

/**
 * Keeps every other process of this machine out of a copy, until the lock is disposed of or this process ends. A process that was stopped may
 * have lost its project, and still goes on with what it was about to write: only the system's lock keeps it and the next one
 * apart. Throws `busy` with the finding `folder_in_use` where another process is in there.
 */
export function lockFolder(dataDir: string): Disposable {
  const lock = lockFile(join(dataDir, 'copy.lock'));
  if (lock) return lock;
  throw new AppError(`another process of this machine still works in ${dataDir}`, {
    code: 'busy',
    finding: folderInUse,
    hint: 'it had the project, and may be stopped: continue it or end it',
  });
}
