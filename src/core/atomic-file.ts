import { randomUUID } from 'node:crypto';
import { accessSync, constants, fsyncSync, linkSync, lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { systemCode, usageError } from './errors.ts';
import { makeFolder, namesIn, isDraft, removeLeft } from './folder.ts';
import { openFile, syncToDisk } from './open-file.ts';
import { explainStorageError } from './storage-error.ts';

/** What is written into a file: whole, or in pieces, where all of it would take much memory. */
type Content = string | Uint8Array | Iterable<string>;

/**
 * Replaces a file whole, for its owner only, safe against power cuts. A link in its place is replaced, not followed. The draft
 * may lie in another folder. Throws system errors; the old file stays.
 */
export function replaceFile(path: string, content: Content, draftFolder = dirname(path)): void {
  fromDraft(path, draftFolder, content, (draft) => renameSync(draft, path));
}

/** Makes a file as `replaceFile` does, unless there is one: that one stays as it is. */
export function createFile(path: string, content: Content, draftFolder = dirname(path)): void {
  fromDraft(path, draftFolder, content, (draft) => {
    try {
      linkSync(draft, path);
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
    }
  });
}

/** A draft's name cannot be guessed, and nothing may be in its place: another user may be allowed to write into the folder. */
function fromDraft(path: string, folder: string, content: Content, put: (draft: string) => void): void {
  const draft = join(folder, `${basename(path)}.draft-${randomUUID()}`);
  try {
    writeDraft(draft, content);
    put(draft);
  } catch (error) {
    removeLeft(draft);
    throw error;
  }
  rmSync(draft, { force: true });
  syncToDisk(dirname(path));
}

function writeDraft(draft: string, content: Content): void {
  using file = openFile(draft, 'wx', 0o600);
  for (const piece of typeof content === 'string' || content instanceof Uint8Array ? [content] : content)
    writeFileSync(file.descriptor, piece);
  fsyncSync(file.descriptor);
}

/** A draft that is older was left by a kill. */
export const draftLivesMs = 3_600_000;

/**
 * Deletes the drafts in a folder that a kill has left, or only those of the file `of`: those last written before a time (milliseconds
 * since 1970).
 */
export function removeOldDrafts(folder: string, beforeMs: number, of?: string): void {
  const isOwn = (name: string): boolean => of === undefined || name.replace(/\.draft-[\da-f-]{36}$/, '') === of;
  for (const name of namesIn(folder).filter((each) => isDraft(each) && isOwn(each))) {
    const path = join(folder, name);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isFile() && stat.mtimeMs < beforeMs) rmSync(path, { force: true });
  }
}

/** Writes a file that a command was asked for, making its folder. Throws `usage` for a wrong place, and `storage` where the disk fails. */
export function writeRequestedFile(file: string, content: Content): void {
  orUsage(file, () => {
    makeFolder(dirname(file));
    replaceFile(file, content);
  });
}

/** Makes a folder that a command was asked to write to. Throws as `writeRequestedFile`. */
export function makeRequestedFolder(folder: string): void {
  orUsage(folder, () => makeFolder(folder));
}

/** Writes a file that a command was asked for where nothing stands, whole or not at all, for its owner only. Throws as `writeRequestedFile`. */
export function writeNewFile(file: string, text: string): void {
  orUsage(file, () => fromDraft(file, dirname(file), text, (draft) => linkSync(draft, file)));
}

/** Throws `usage` where a new file cannot be written, before the work of which it is the result. */
export function refuseUnwritable(file: string): void {
  orUsage(file, () => accessSync(dirname(file), constants.W_OK));
}

/** The disk or the machine fails, and the place is right. A read-only disk is a wrong place: the operator can name another. */
const failingDisk = /^(ENOSPC|EDQUOT|EIO|E[MN]FILE)$/;

function orUsage(path: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    const failed = failingDisk.test(code) ? explainStorageError(error, path) : undefined;
    throw failed ?? usageError(`cannot write ${path} (${code})`, 'name a place in a folder that this user can write');
  }
}
