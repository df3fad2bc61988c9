import { accessSync, constants, existsSync, mkdirSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError, systemCode } from './errors.ts';

/**
 * Makes a folder that only its owner may enter, and those above it, where there are none. Throws the system's error;
 * whether an existing path is a folder is not checked.
 */
export function makeFolder(path: string): void {
  // Node's own `recursive` never ends below a folder that refuses children with ENOENT, such as /proc.
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const code = systemCode(error);
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
    makeFolder(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}

/** Where all that is written only for a while goes: on the disk of the data folder, and as protected as the rest of it. */
export function temporaryFolder(dataDir: string): string {
  return join(dataDir, 'tmp');
}

/**
 * Throws the system's error where a file or folder of this user's cannot be written. The right to write does not tell: a
 * disk that has turned read-only after a fault may still grant it. So its times are set, to what they are.
 */
export function refuseUnwritable(path: string): void {
  accessSync(path, constants.W_OK);
  const { atime, mtime } = statSync(path);
  utimesSync(path, atime, mtime);
}

/** Whether a file or folder of this user's can be written: as `refuseUnwritable` finds. */
export function isWritable(path: string): boolean {
  try {
    refuseUnwritable(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Refuses a data folder that anybody but its owner may enter, or whose keys anybody else may read. Throws `usage` with
 * the commands that mend it. Windows keeps no such modes.
 */
export function refuseOpenModes(dataDir: string): void {
  if (process.platform === 'win32') return;
  const keys = join(dataDir, 'keys');
  const names = existsSync(keys) ? readdirSync(keys) : [];
  const fixes = [
    ...[dataDir, ...(names.length > 0 ? [keys] : [])].filter(isOpen).map((path) => `chmod 700 ${path}`),
    ...names
      .map((name) => join(keys, name))
      .filter(isOpen)
      .map((path) => `chmod 600 ${path}`),
  ];
  if (fixes.length > 0)
    throw new AppError('others than its owner may read the data folder or its keys', {
      code: 'usage',
      hint: `run: ${fixes.join(' && ')}`,
    });
}

function isOpen(path: string): boolean {
  return (statSync(path).mode & 0o077) !== 0;
}
