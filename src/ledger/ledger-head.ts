import { existsSync, fstatSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { checkpointOfSize, checkpointsFolder, checkpointName, listCheckpointSizes } from './checkpoint.ts';
import { entriesPath } from './entry-file.ts';
import { lineBytesMax, readEntry } from './entry.ts';
import { openFile } from '../core/open-file.ts';

/** What the newest entry and the newest checkpoint of a ledger say. Nothing is verified. Times are ISO 8601 UTC. */
export type LedgerHead = {
  /** Null when the newest entry cannot be read, or is longer than what is looked at. */
  entries: number | null;
  lastEntryAt: string | null;
  /** `root` is the Merkle tree hash, as hex; `at` is when the file was made. Null before the first one. */
  checkpoint: { size: number; root: string; at: string } | null;
};

// The last line, and the piece of one that is being written.
const tailBytes = 2 * lineBytesMax + 2;

/**
 * The head of the ledger in a folder, in a time that does not grow with the ledger, beside one who writes it; undefined
 * where there is none. Throws the system's error when a file cannot be read.
 */
export function readLedgerHead(folder: string): LedgerHead | undefined {
  const path = entriesPath(folder);
  if (!existsSync(path)) return undefined;
  const last = lastEntry(path);
  return {
    entries: last === undefined ? null : last.seq + 1,
    lastEntryAt: last?.at ?? null,
    checkpoint: newestCheckpoint(folder),
  };
}

function lastEntry(path: string): { seq: number; at: string } | undefined {
  using file = openFile(path);
  const { size } = fstatSync(file.descriptor);
  const length = Math.min(size, tailBytes);
  const tail = Buffer.alloc(length);
  const read = readSync(file.descriptor, tail, 0, length, size - length);
  // What follows the last newline is being written, or was left by a kill.
  const end = tail.subarray(0, read).lastIndexOf(10);
  const start = tail.subarray(0, Math.max(0, end)).lastIndexOf(10) + 1;
  if (end === -1 || (start === 0 && size > length)) return undefined;
  const entry = readEntry(tail.subarray(start, end));
  return typeof entry === 'string' ? undefined : entry;
}

function newestCheckpoint(folder: string): LedgerHead['checkpoint'] {
  const size = listCheckpointSizes(folder).at(-1);
  if (size === undefined) return null;
  const checkpoint = checkpointOfSize(folder, size);
  if (!checkpoint) return null;
  const at = statSync(join(checkpointsFolder(folder), `${checkpointName(size)}.txt`)).mtime.toISOString();
  return { size, root: checkpoint.root.toString('hex'), at };
}
