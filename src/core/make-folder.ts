import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemCode } from './errors.ts';

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
