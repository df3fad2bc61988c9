import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { syncToDisk } from '../core/atomic-file.ts';
import { AppError } from '../core/errors.ts';
import { makeFolder } from '../core/folder.ts';
import { explainStorageError } from '../core/storage-error.ts';

const chunkBytes = 256 * 1024;

/** No line is longer: about half a million identifiers fenced at once. */
const lineBytesMax = 64 * 1024 * 1024;

/** The folder of the ledger: all that an auditor needs. */
export function ledgerFolder(dataDir: string): string {
  return join(dataDir, 'ledger');
}

/** The file of entries in the ledger's folder. */
export function entriesPath(folder: string): string {
  return join(folder, 'entries.jsonl');
}

/**
 * Each whole line of a file, without its newline, in constant memory; none where there is no file. What follows the last
 * newline is no line: `onTorn` gets its bytes. Throws `storage` when the file cannot be read or a line is longer than any of ours.
 */
export function* readLines(path: string, onTorn?: (torn: Buffer) => void): Generator<Buffer> {
  if (!existsSync(path)) return;
  const descriptor = explained(path, () => openSync(path, 'r'));
  try {
    let rest: Buffer[] = [];
    let restBytes = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const read = explained(path, () => readSync(descriptor, chunk));
      if (read === 0) {
        if (restBytes > 0) onTorn?.(Buffer.concat(rest));
        return;
      }
      let start = 0;
      for (let end = chunk.indexOf(10); end !== -1 && end < read; end = chunk.indexOf(10, start)) {
        yield Buffer.concat([...rest, chunk.subarray(start, end)]);
        rest = [];
        restBytes = 0;
        start = end + 1;
      }
      rest.push(chunk.subarray(start, read));
      restBytes += read - start;
      if (restBytes > lineBytesMax)
        throw new AppError(`a line of ${path} is longer than ${lineBytesMax} bytes`, {
          code: 'storage',
          hint: 'restore the folder ledger/ from a backup',
        });
    }
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Adds bytes at the end of a file that has to have `bytesBefore`: all of them, on disk for good, or none. The first ones
 * make the file and its folder, for their owner only. Throws `storage` when the file has another size, or cannot be
 * written; a file that cannot be brought back to its size either has another one at the next attempt, and so stays as it is.
 */
export function appendBytes(path: string, content: Buffer, bytesBefore: number): void {
  const create = bytesBefore === 0 ? constants.O_CREAT : 0;
  explained(path, () => {
    if (bytesBefore === 0) makeFolder(dirname(path));
    const descriptor = openSync(path, constants.O_WRONLY | constants.O_APPEND | create, 0o600);
    try {
      checkSize(path, fstatSync(descriptor).size, bytesBefore);
      try {
        writeFileSync(descriptor, content);
        fsyncSync(descriptor);
        if (bytesBefore === 0) for (const folder of [dirname(path), dirname(dirname(path))]) syncToDisk(folder);
      } catch (error) {
        ftruncateSync(descriptor, bytesBefore);
        fsyncSync(descriptor);
        throw error;
      }
    } finally {
      closeSync(descriptor);
    }
  });
}

/** Cuts off what a kill or a power cut left after the last whole line. */
export function cutTo(path: string, bytes: number): void {
  explained(path, () => {
    const descriptor = openSync(path, 'r+');
    try {
      if (fstatSync(descriptor).size === bytes) return;
      ftruncateSync(descriptor, bytes);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  });
}

function checkSize(path: string, found: number, expected: number): void {
  if (found === expected) return;
  throw new AppError(`${path} has ${found} bytes, expected ${expected}`, {
    code: 'storage',
    hint: 'something else writes to the ledger, or the disk failed: run `analytics-mirror audit verify`, then start again',
  });
}

/** What `act` returns; a system error becomes a `storage` error about the path. */
function explained<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw explainStorageError(error, path) ?? error;
  }
}
