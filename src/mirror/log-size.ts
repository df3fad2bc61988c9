import { statSync } from 'node:fs';
import { bytesText } from '../core/words.ts';
import { databasePath, logBytesKept } from './database.ts';

/** The write-ahead log has this many bytes only while a reader keeps it from being written back, or after one large write. */
const logBytesMax = 3 * logBytesKept;

/** The bytes of the mirror's write-ahead log; 0 where there is none. */
export function readLogBytes(dataDir: string): number {
  return statSync(`${databasePath(dataDir)}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/** What is wrong with a write-ahead log of so many bytes, in words; null where nothing is. Kept by a reader, it would fill the disk in the end. */
export function keptLogText(logBytes: number): string | null {
  if (logBytes <= logBytesMax) return null;
  return `mirror.db-wal has grown to ${bytesText(logBytes)}, because a reader keeps it from being written back`;
}
