import { statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { AppError, systemCode, usageError } from '../core/errors.ts';
import { shellWord } from '../core/words.ts';
import type { Environment } from './environment.ts';

const name = 'analytics-mirror.yaml';

/**
 * Where a configuration file is looked for when none is named: where the user stands, then the user's own folder. Throws
 * `usage` where the folder in which the user stands is gone.
 */
export function defaultFiles(environment: Environment): string[] {
  const { XDG_CONFIG_HOME: folder, HOME: home, APPDATA: windows } = environment;
  const own = folder || windows || (home ? join(home, '.config') : undefined);
  return [join(callingFolder(), name), ...(own ? [join(own, 'analytics-mirror', name)] : [])];
}

function callingFolder(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new AppError('the folder in which this command was called is gone', {
      code: 'usage',
      hint: 'change to a folder that exists',
      cause,
    });
  }
}

/**
 * The configuration file that is used when none is named; undefined without one. Throws `usage` for a file that another user
 * may have written: it says to which address the key is sent. Also where this user may not look for one: it may say what is
 * to be masked.
 */
export function findDefaultFile(environment: Environment): string | undefined {
  const files = defaultFiles(environment);
  const file = files.find(isThere);
  if (file === undefined) refuseOtherName(files);
  if (file === undefined || process.getuid === undefined) return file;
  const { uid, mode } = statSync(file);
  if ((uid === process.getuid() || uid === 0) && (mode & 0o022) === 0) return file;
  throw usageError(
    `another user may have written the configuration file ${file}`,
    `if it is yours, run: chmod go-w ${file}; otherwise name your own with --config`,
  );
}

/** Throws `usage` for a file of the other usual ending: nobody would notice that it is not read. */
function refuseOtherName(files: readonly string[]): void {
  const [wanted, found] = files
    .map((file): [string, string] => [file, file.replace(/yaml$/, 'yml')])
    .find(([, other]) => isThere(other)) ?? [''];
  if (found === undefined) return;
  throw usageError(
    `the configuration file ${found} is not read: its name has to end with .yaml`,
    `run: mv ${shellWord(found)} ${shellWord(wanted)}`,
  );
}

/** Whether anything is there: a folder in the place of the file is refused when it is read. */
function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    throw new AppError(`the configuration file ${path} cannot be looked for (${systemCode(cause) ?? 'unknown'})`, {
      code: 'usage',
      hint: 'call the command in a folder that this user may enter, with HOME of this user, or name a file with --config',
      cause,
    });
  }
}
