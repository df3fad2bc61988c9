import { accessSync, constants, statSync, utimesSync } from 'node:fs';

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
