import { constants, fstatSync, fsyncSync, ftruncateSync, readSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError } from '../core/errors.ts';
import { isRegularFile, makeFolder } from '../core/folder.ts';
import { explainStorageError } from '../core/storage-error.ts';
import { openFile, syncToDisk } from '../core/open-file.ts';

const chunkBytes = 256 * 1024;

/** No version could write a longer line: each made its line as one JavaScript string. */
const anyLineBytesMax = 2 ** 29;

/** The folder of the ledger: all that an auditor needs. */
export function ledgerFolder(dataDir: string): string {
  return join(dataDir, 'ledger');
}

/** The file of entries in the ledger's folder. */
export function entriesPath(folder: string): string {
  return join(folder, 'entries.jsonl');
}

/**
 * Each whole line of a file, without its newline; none where there is no file. It takes the memory of the longest line once.
 * What follows the last newline is no line: `onTorn` gets its bytes. Throws `storage` when the file cannot be read, or a line
 * is longer than any version could write.
 */
export function* readLines(path: string, onTorn?: (torn: Buffer) => void): Generator<Buffer> {
  if (!isRegularFile(path)) return;
  using file = explained(path, () => openFile(path));
  const read = (bytes: number, at: number): Buffer => {
    const content = Buffer.allocUnsafe(bytes);
    return content.subarray(
      0,
      explained(path, () => readSync(file.descriptor, content, 0, bytes, at)),
    );
  };
  let lineAt = 0;
  let chunkAt = 0;
  for (;;) {
    const chunk = read(chunkBytes, chunkAt);
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, lineAt - chunkAt)) {
      // A line that began in a chunk before is read again as a whole: nothing has to be joined.
      yield lineAt < chunkAt ? read(chunkAt + end - lineAt, lineAt) : chunk.subarray(lineAt - chunkAt, end);
      lineAt = chunkAt + end + 1;
    }
    chunkAt += chunk.length;
    if (chunk.length === 0) break;
    if (chunkAt - lineAt > anyLineBytesMax)
      throw new AppError(`a line of ${path} is longer than ${anyLineBytesMax} bytes`, {
        code: 'storage',
        hint: 'restore the folder ledger/ from a backup',
      });
  }
  if (chunkAt > lineAt) onTorn?.(read(chunkAt - lineAt, lineAt));
}

/**
 * Adds lines at the end of a file that has to have `bytesBefore`: all of them, on disk for good, or none, also where making
 * them throws. Returns how many bytes the file has then. The first ones make the file and its folder, for their owner only.
 * Throws `storage` when the file has another size, or cannot be written; a file that cannot be brought back to its size
 * either has another one at the next attempt, and so stays as it is.
 */
export function appendLines(path: string, lines: Iterable<Buffer>, bytesBefore: number): number {
  const create = bytesBefore === 0 ? constants.O_CREAT : 0;
  return explained(path, () => {
    if (bytesBefore === 0) makeFolder(dirname(path));
    using file = openFile(path, constants.O_WRONLY | constants.O_APPEND | create, 0o600);
    checkSize(path, fstatSync(file.descriptor).size, bytesBefore);
    try {
      const bytes = writeLines(file.descriptor, lines);
      fsyncSync(file.descriptor);
      if (bytesBefore === 0) syncToDisk(dirname(path));
      return bytesBefore + bytes;
    } catch (error) {
      ftruncateSync(file.descriptor, bytesBefore);
      fsyncSync(file.descriptor);
      throw error;
    }
  });
}

const newline = Buffer.from('\n');

/** Writes lines, a chunk at a time. Returns how many bytes they have with their newlines. */
export function writeLines(descriptor: number, lines: Iterable<Buffer>): number {
  let written = 0;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  const write = (): void => {
    if (waitingBytes > 0) writeFileSync(descriptor, Buffer.concat(waiting));
    written += waitingBytes;
    [waiting, waitingBytes] = [[], 0];
  };
  for (const line of lines) {
    waiting.push(line, newline);
    waitingBytes += line.length + 1;
    if (waitingBytes > chunkBytes) write();
  }
  write();
  return written;
}

/** Cuts off what a kill or a power cut left after the last whole line. */
export function cutTo(path: string, bytes: number): void {
  explained(path, () => {
    using file = openFile(path, 'r+');
    if (fstatSync(file.descriptor).size === bytes) return;
    ftruncateSync(file.descriptor, bytes);
    fsyncSync(file.descriptor);
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
