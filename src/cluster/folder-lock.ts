import { join } from 'node:path';
import { AppError } from '../core/errors.ts';
import { lockFile } from '../mirror/file-lock.ts';

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
