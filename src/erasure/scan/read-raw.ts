import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { ReadAt } from './archive-formats.ts';
import { contentLimits, searchPackedFile } from './search-archives.ts';
import type { ShingleStream } from './shingle-search.ts';

const chunkBytes = 1 << 20;

/** How many bytes were read, and why packed content of the file could not be read. */
export type RawRead = { bytes: number; problems: string[] };

/**
 * Searches a file's bytes as they are (`isWhole`), and its content as an archive; each as a stream of its own. Bounded memory.
 * Rejects with the system's error.
 */
export async function readRaw(
  path: string,
  openSearch: (isWhole: boolean) => ShingleStream,
  limits = contentLimits,
): Promise<RawRead> {
  const descriptor = openSync(path, 'r');
  try {
    const readAt: ReadAt = (offset, length) => {
      const buffer = Buffer.allocUnsafe(length);
      return buffer.subarray(0, readSync(descriptor, buffer, 0, length, offset));
    };
    const search = openSearch(true);
    let bytes = 0;
    for (let chunk = readAt(0, chunkBytes); chunk.length > 0; chunk = readAt(bytes, chunkBytes)) {
      search(chunk);
      bytes += chunk.length;
    }
    const openPart = (): ShingleStream => openSearch(false);
    const problems = await searchPackedFile({ path, size: fstatSync(descriptor).size, readAt }, openPart, limits);
    return { bytes, problems: [...problems] };
  } finally {
    closeSync(descriptor);
  }
}
