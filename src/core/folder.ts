import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  type Dirent,
  existsSync,
  fstatSync,
  mkdirSync,
  opendirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  type Stats,
  utimesSync,
} from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { AppError, systemCode, usageError } from './errors.ts';
import { shellWord } from './words.ts';
import { openFile, syncToDisk } from './open-file.ts';

/** Makes a folder, and those above it, for the owner only, on disk for good. An existing path is not checked. Throws system errors. */
export function makeFolder(path: string): void {
  // Node's own `recursive` never ends below a folder that refuses children with ENOENT, such as /proc.
  try {
    makeOne(path);
  } catch (error) {
    const code = systemCode(error);
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
    makeFolder(dirname(path));
    makeOne(path);
  }
}

function makeOne(path: string): void {
  mkdirSync(path, { mode: 0o700 });
  try {
    syncToDisk(dirname(path));
  } catch (error) {
    // A parent that this user may write to and not read cannot be asked for.
    if (systemCode(error) !== 'EACCES') throw error;
  }
}

/** The path itself, or the nearest one above it that exists. */
export function nearestPath(path: string): string {
  return existsSync(path) ? path : nearestPath(dirname(path));
}

/** Whether a path is a folder or lies in it, by whatever links it is spelt. */
export function isWithin(folder: string, path: string): boolean {
  const inside = relative(realPath(folder), realPath(path));
  return !(inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside));
}

/** A path without links, as far as it exists. */
export function realPath(path: string): string {
  const whole = resolve(path);
  const nearest = nearestPath(whole);
  return join(realpathSync(nearest), relative(nearest, whole));
}

/** Whether a path is a regular file: anything else may stand there, and a pipe would keep its reader for ever. */
export function isRegularFile(path: string): boolean {
  return kindAt(path)?.isFile() === true;
}

/** No file that this program writes and reads as a whole is larger: other bytes stand in the place of a larger one. */
export const wholeFileBytesMax = 16 * 1024 * 1024;

/**
 * The bytes of a file that is read as a whole. Never waits for the writer of a pipe. Throws `storage` for a file that is too
 * large, or that never ends, and the system's error for one that may not be read.
 */
export function readWholeFile(path: string, bytesMax = wholeFileBytesMax): Buffer {
  using file = openFile(path);
  const stat = fstatSync(file.descriptor);
  if (stat.size <= bytesMax && !stat.isCharacterDevice()) return readFileSync(file.descriptor);
  throw new AppError(`${path} has more than ${bytesMax} bytes, and is no file that this program wrote`, {
    code: 'storage',
    hint: 'look what it is, take it away, and restore the file from a backup',
  });
}

/** The text of a regular file; undefined where there is none. Throws as `readWholeFile` does. */
export function readRegularFile(path: string): string | undefined {
  return isRegularFile(path) ? readWholeFile(path).toString() : undefined;
}

/** The names in a folder, sorted; none where there is no folder. Throws the system's error for one that may not be read. */
export function namesIn(path: string): string[] {
  return kindAt(path)?.isDirectory() ? readdirSync(path).toSorted() : [];
}

/** Links are followed; undefined where they lead nowhere. */
function kindAt(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** How many bytes are free on the disk of a path, or of the nearest folder above it that exists. */
export function freeBytesAt(path: string): number {
  const { bavail, bsize } = statfsSync(nearestPath(path));
  return bavail * bsize;
}

/** A run has so many files open at once, and more than as many are left to it on any common system. */
const filesAtOnce = 32;

/** Throws the system's error (EMFILE) where this process may not open as many files more as a run does. */
export function refuseFewFiles(): void {
  using opened = new DisposableStack();
  for (let count = 0; count < filesAtOnce; count += 1) opened.use(openFile(process.execPath));
}

/** The folder for temporary files. It is on the data folder's disk and has the same protection. */
export function temporaryFolder(dataDir: string): string {
  return join(dataDir, 'tmp');
}

/** Where what was written for people and auditors lies. Holds no personal data. */
export function reportsFolder(dataDir: string): string {
  return join(dataDir, 'reports');
}

/** Where the certificates of a data folder lie. */
export function certificatesFolder(dataDir: string): string {
  return join(reportsFolder(dataDir), 'certificates');
}

/** Throws `storage`, with the fix, where this user may not enter a folder, or one above it: nothing in it would seem to be there. */
export function refuseHiddenFolder(path: string): void {
  try {
    opendirSync(path).closeSync();
  } catch (error) {
    if (systemCode(error) !== 'EACCES') return;
    throw new AppError(`this user may not read the folder ${path} (EACCES)`, {
      code: 'storage',
      hint: 'run the command as the user to whom the folder belongs, or name another one with --data-dir',
      cause: error,
    });
  }
}

/** Throws the system's error for an unwritable path. Sets its times, since a read-only disk may grant the right. */
export function refuseUnwritable(path: string): void {
  accessSync(path, constants.W_OK);
  const { atime, mtime } = statSync(path);
  utimesSync(path, atime, mtime);
}

/** Whether a file or folder of this user can be written, as `refuseUnwritable` finds. */
export function isWritable(path: string): boolean {
  try {
    refuseUnwritable(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Throws `usage`, with the repair, where the data folder belongs to another user than the one with the number `uid`, or where
 * other users may enter it or read its keys. Not on Windows.
 */
export function refuseOpenFolder(dataDir: string, uid = process.geteuid?.()): void {
  if (uid === undefined) return;
  const owner = statSync(dataDir).uid;
  // Its owner could put a link to any file of this user into it.
  if (owner !== uid)
    throw usageError(
      `the data folder belongs to user ${owner}, and this is user ${uid}`,
      `run the program as user ${owner}, or give the folder to this user: chown -R ${uid} ${shellWord(dataDir)}`,
    );
  const keys = join(dataDir, 'keys');
  const names = existsSync(keys) ? readdirSync(keys) : [];
  const fixes = [
    ...[dataDir, ...(names.length > 0 ? [keys] : [])].filter(isOpen).map((path) => `chmod 700 ${shellWord(path)}`),
    ...[...names.map((name) => join(keys, name)), join(dataDir, 'restore.key')]
      .filter((path) => existsSync(path) && isOpen(path))
      .map((path) => `chmod 600 ${shellWord(path)}`),
  ];
  if (fixes.length > 0)
    throw usageError('other users may read the data folder or its keys', `run: ${fixes.join(' && ')}`);
}

function isOpen(path: string): boolean {
  return (statSync(path).mode & 0o077) !== 0;
}

/** All that is below a folder and is no folder. Links are not followed: they could lead round in a circle. */
export function entriesBelow(folder: string): Dirent[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? entriesBelow(join(folder, entry.name)) : [entry]));
  } catch (error) {
    // There is none yet, or a writer has removed it meanwhile.
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The path of an entry below a folder, with slashes. */
export function pathBelow(folder: string, { parentPath, name }: Dirent): string {
  return relative(folder, join(parentPath, name)).replaceAll(sep, '/');
}

/**
 * Copies a file, or the files below a folder, for the owner only, with their times. What is no file is left out; so is what is missing.
 * Throws the system's error, where Node's `cpSync` ends the process, and `usage` for a link to a folder: what is there would be missing.
 */
export function copyFiles(from: string, to: string): void {
  const paths = isRegularFile(from) ? [''] : entriesBelow(from).map((entry) => pathBelow(from, entry));
  for (const path of paths) {
    const [source, target] = [join(from, path), join(to, path)];
    const found = statSync(source, { throwIfNoEntry: false });
    if (found?.isDirectory())
      throw usageError(`${source} is a link, and the files of its folder would not be copied`, 'put the folder there');
    if (!found?.isFile()) continue;
    makeFolder(dirname(target));
    copyFileSync(source, target);
    chmodSync(target, 0o600);
    utimesSync(target, found.atime, found.mtime);
  }
}

/** Removes what failed work has left, as far as the system lets it: the failure of the work is the one to report. */
export function removeLeft(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // A later call finds it.
  }
}

/** Whether a file is a draft, by its name. */
export function isDraft(name: string): boolean {
  return /\.draft(?:-[\da-f-]{36})?$/.test(name);
}
