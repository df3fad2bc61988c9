import { AppError, systemCode } from './errors.ts';

/** Message and hint for each system or SQLite code that a user can act on. */
const explanations: readonly { pattern: RegExp; message: string; hint: string }[] = [
  {
    pattern: /^(ENOSPC|EDQUOT|SQLITE_FULL)$/,
    message: 'the disk is full',
    hint: 'free some space and run the command again; nothing that was committed is lost',
  },
  {
    pattern: /^E[MN]FILE$/,
    message: 'too many files are open',
    hint: 'raise the limit of this process or machine (`ulimit -n`) and run the command again',
  },
  {
    pattern: /^EROFS$/,
    message: 'the disk is read-only',
    hint: 'a disk turns read-only after a fault: see the log of the system, and mount it for writing',
  },
  {
    pattern: /^EXDEV$/,
    message: 'the data folder stands on several disks',
    hint: 'move it as a whole to one disk: inside it, no folder may be a link to another disk, or a mount of its own',
  },
  {
    pattern: /^(EACCES|EPERM|SQLITE_READONLY.*|SQLITE_PERM)$/,
    message: 'the data folder cannot be written',
    hint: 'give this user the right to write to dataDir (MIRROR_DATA_DIR)',
  },
  {
    pattern: /^SQLITE_(NOTADB|CORRUPT).*$/,
    message: 'mirror.db is damaged or not a SQLite database',
    hint: 'restore it from a backup, or move it away and sync again',
  },
  {
    pattern: /^SQLITE_(BUSY|LOCKED).*$/,
    message: 'another process holds mirror.db',
    hint: 'end it, or wait for it, and run the command again',
  },
  {
    pattern: /^(ENOTDIR|EEXIST|ENOENT|SQLITE_CANTOPEN.*)$/,
    message: 'the data folder cannot be opened',
    hint: 'dataDir (MIRROR_DATA_DIR) must be a folder, or a path where one can be made, on a disk that can be written',
  },
  {
    pattern: /^(EISDIR|ELOOP)$/,
    message: 'something else stands where a file should be',
    hint: 'look what it is, take it away, and restore the file from a backup',
  },
  {
    pattern: /^EBUSY$/,
    message: 'a file or folder is in use',
    hint: 'see what holds it (a mount, another program), end that, and run the command again',
  },
  {
    pattern: /^(EINVAL|ENOSYS|ENOTSUP|EOPNOTSUPP)$/,
    message: 'the file system refuses what this program needs',
    hint: 'move the data folder to a local disk: no network file system, no folder of another machine, no bucket',
  },
  {
    pattern: /^(EIO|SQLITE_IOERR.*)$/,
    message: 'the disk answers with errors',
    hint: 'check the disk and its file system; run `analytics-mirror doctor` afterwards',
  },
];

/** The `busy` or `storage` error to show for a disk or database error at a path; undefined for any other error. */
export function explainStorageError(error: unknown, where: string): AppError | undefined {
  const code = systemCode(error);
  const found = code === undefined ? undefined : explanations.find(({ pattern }) => pattern.test(code));
  if (!found) return undefined;
  return new AppError(`${found.message} (${code}): ${where}`, {
    code: /^SQLITE_(BUSY|LOCKED)/.test(code ?? '') ? 'busy' : 'storage',
    hint: found.hint,
    cause: error,
  });
}
