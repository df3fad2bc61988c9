import { fstatSync, readSync, statfsSync, type Stats } from 'node:fs';
import { resolve } from 'node:path';
import { AppError, systemCode, usageError } from '../core/errors.ts';
import { shellWord } from '../core/words.ts';
import { openFile } from '../core/open-file.ts';

/** No secret of this program is near as long. */
const bytesMax = 16_384;

/** Magic numbers of `tmpfs` and `ramfs` (statfs(2)). */
const memoryFileSystems = [0x01021994, 0x858458f6];

/** The user and file that are judged: the user's number, and whether the file lies on a file system in memory. */
export type FileUse = { uid: number; isInMemory: boolean };

/**
 * The text of a file with a secret, which the setting or variable `name` names. Links are followed: Kubernetes mounts secrets
 * as links. Throws `usage`, with the fix, for what is no small regular file or is open to other users. Never waits for a
 * writer, as a pipe would make it.
 */
export function readPrivateFile(path: string, name: string): string {
  try {
    using file = openFile(path);
    const stat = fstatSync(file.descriptor);
    const isInMemory = process.platform === 'linux' && memoryFileSystems.includes(statfsSync(path).type);
    const problem = problemOf(stat, { uid: process.geteuid?.() ?? 0, isInMemory });
    if (problem) throw usageError(`${name}: ${path} ${problem.found}`, problem.fix(path));
    const bytes = Buffer.alloc(bytesMax);
    return bytes.toString('utf8', 0, readSync(file.descriptor, bytes));
  } catch (error) {
    if (error instanceof AppError) throw error;
    const found = systemCode(error) ?? 'unknown error';
    throw usageError(
      `${name} cannot be read: ${resolve(path)} (${found})`,
      'check the path, and that this user may read the file',
    );
  }
}

/**
 * What is wrong with a file as the place of a secret; undefined where nothing is. The file belongs to this user, who alone may
 * read it, or to root, who may let a group read it (systemd, Kubernetes). On a file system in memory, where Kubernetes and
 * Docker Swarm mount the secrets of a container, root may let everybody read it. Modes say nothing on Windows.
 */
export function problemOf(
  stat: Pick<Stats, 'isFile' | 'size' | 'uid' | 'mode'>,
  { uid, isInMemory }: FileUse,
): { found: string; fix: (path: string) => string } | undefined {
  if (!stat.isFile()) return { found: 'is no regular file', fix: () => 'name a file that holds the secret' };
  if (stat.size > bytesMax)
    return {
      found: `has more than ${bytesMax} bytes`,
      fix: () => 'name a file that holds the secret and nothing else',
    };
  if (process.platform === 'win32') return undefined;
  const give = (path: string): string => `run: chown ${uid} ${shellWord(path)} && chmod 400 ${shellWord(path)}`;
  if (stat.uid !== uid && stat.uid !== 0) return { found: 'belongs to another user', fix: give };
  const tooMuch = stat.uid !== 0 ? 0o077 : isInMemory ? 0o022 : 0o027;
  if ((stat.mode & tooMuch) !== 0)
    return {
      found: 'is open to other users',
      fix: stat.uid === uid ? (path) => `run: chmod 600 ${shellWord(path)}` : give,
    };
  return undefined;
}
