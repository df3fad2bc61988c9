import { dirname } from 'node:path';
import { replaceFile } from '../core/atomic-file.ts';
import { AppError, systemCode } from '../core/errors.ts';
import { makeFolder } from '../core/folder.ts';

/** Writes a file that a command was asked for, making its folder. Throws `usage` when it cannot be written. */
export function writeForPeople(file: string, content: string): void {
  try {
    makeFolder(dirname(file));
    replaceFile(file, content);
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    throw new AppError(`cannot write ${file} (${code})`, {
      code: 'usage',
      hint: 'name a file in a folder that can be written',
    });
  }
}
