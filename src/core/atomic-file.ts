import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Makes a file's or folder's latest content survive a power cut. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Replaces a file whole: readers see the old bytes or the new ones, also after a power cut. The file is readable
 * by its owner only. Throws the system's error, and then leaves the old file as it was.
 */
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
