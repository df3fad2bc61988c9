import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from './errors.ts';

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
