import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError, systemCode } from './errors.ts';
import { makeFolder } from './folder.ts';

/** Makes a file's or folder's latest content survive a power cut. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Replaces a file whole, for its owner only, safe against power cuts. Throws system errors; the old file stays. */
export function replaceFile(path: string, content: string): void {
  const draft = `${path}.draft-${process.pid}`;
  try {
    const descriptor = openSync(draft, 'w', 0o600);
    try {
      writeFileSync(descriptor, content);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncToDisk(dirname(path));
}

/** Writes a file that a command was asked for, making its folder. Throws `usage` when it cannot be written. */
export function writeRequestedFile(file: string, content: string): void {
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
