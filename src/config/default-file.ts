import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { AppError } from '../core/errors.ts';
import type { Environment } from './environment.ts';

const name = 'analytics-mirror.yaml';

/** Where a configuration file is looked for when none is named: where the user stands, then the user's own folder. */
export function defaultFiles(environment: Environment): string[] {
  const { XDG_CONFIG_HOME: folder, HOME: home, APPDATA: windows } = environment;
  const own = folder || windows || (home ? join(home, '.config') : undefined);
  return [resolve(name), ...(own ? [join(own, 'analytics-mirror', name)] : [])];
}

/**
 * The configuration file that is used when none is named; undefined without one. Throws `usage` for a file that another user
 * may have written: it says to which address the key is sent.
 */
export function findDefaultFile(environment: Environment): string | undefined {
  const file = defaultFiles(environment).find((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
  if (file === undefined || process.getuid === undefined) return file;
  const { uid, mode } = statSync(file);
  if ((uid === process.getuid() || uid === 0) && (mode & 0o022) === 0) return file;
  throw new AppError(`another user may have written the configuration file ${file}`, {
    code: 'usage',
    hint: `if it is yours, run: chmod go-w ${file}; otherwise name your own with --config`,
  });
}
