import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { zstdDecompressSync } from 'node:zlib';
import { applicationId } from '../../mirror/migrate.ts';
import type { ReadAt } from './archive-formats.ts';
import { contentLimits, searchPackedFile, searchUnpackedBytes } from './search-archives.ts';
import type { ShingleStream } from './shingle-search.ts';

const chunkBytes = 1 << 20;
/** The largest frame that is decompressed, and the most that its content may have. A page of a Parquet file has about 1 MB. */
const frameBytesMax = 64 << 20;
const frameContentBytesMax = 512 << 20;

/** How every frame of Zstandard begins (RFC 8878). */
const frameMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

const checksumBytes = 4;
const blockHeaderBytes = 3;
const dictionaryIdBytes = [0, 1, 2, 4] as const;

/** How many bytes were read, and why compressed parts of the file could not be read. */
export type RawRead = { bytes: number; problems: string[] };

/**
 * Searches a file's bytes as they are (`isWhole`), the content of each Zstandard frame within it (such as the pages of Parquet
 * files), and its content as an archive; each as a stream of its own. Bounded memory. Rejects with the system's error.
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
    const { bytes, frames } = searchWhole(readAt, openSearch(true));
    const openPart = (): ShingleStream => openSearch(false);
    const inFrames = await searchFrames(readAt, frames, openPart);
    if (frames.length > 0 && isMirror(path)) inFrames.clear();
    const inside = await searchPackedFile({ path, size: fstatSync(descriptor).size, readAt }, openPart, limits);
    return { bytes, problems: [...new Set([...inFrames, ...inside])] };
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Whether a file is a mirror, or its log. Its random bytes, as those of the fence, can begin like a frame by chance, once in 4 GB, and
 * then are none. No text in it can: it is UTF-8.
 */
function isMirror(path: string): boolean {
  const head = Buffer.alloc(72);
  try {
    const descriptor = openSync(path.replace(/-wal$/, ''), 'r');
    try {
      readSync(descriptor, head, 0, head.length, 0);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return false;
  }
  return head.toString('latin1', 0, 16) === 'SQLite format 3\0' && head.readUInt32BE(68) === applicationId;
}

/** Searches all bytes, and returns the offsets where frames may begin. */
function searchWhole(readAt: ReadAt, search: ShingleStream): { bytes: number; frames: number[] } {
  const frames: number[] = [];
  const overlap = frameMagic.length - 1;
  let bytes = 0;
  let before = Buffer.alloc(0);
  for (;;) {
    const chunk = readAt(bytes, chunkBytes);
    if (chunk.length === 0) return { bytes, frames };
    search(chunk);
    const border = Buffer.concat([before, chunk.subarray(0, overlap)]);
    for (const at of positionsOf(border)) frames.push(bytes - before.length + at);
    for (const at of positionsOf(chunk)) frames.push(bytes + at);
    before = Buffer.from(chunk.subarray(-overlap));
    bytes += chunk.length;
  }
}

function* positionsOf(bytes: Buffer): Generator<number> {
  for (let at = bytes.indexOf(frameMagic); at !== -1; at = bytes.indexOf(frameMagic, at + 1)) yield at;
}

/** Searches all frames. Returns why one could not be searched: a frame can be cut off or damaged. */
async function searchFrames(
  readAt: ReadAt,
  frames: readonly number[],
  openSearch: () => ShingleStream,
): Promise<Set<string>> {
  const problems = new Set<string>();
  let searchedTo = 0;
  for (const offset of frames) {
    if (offset < searchedTo) continue;
    const end = frameEnd(readAt, offset);
    const isWhole = end !== undefined && end - offset <= frameBytesMax;
    const content = isWhole && decompressFrame(readAt(offset, end - offset), frameContentBytesMax);
    if (content) {
      // Pages of Parquet files hold no archives.
      if (offset === 0) for (const problem of await searchUnpackedBytes(content, openSearch)) problems.add(problem);
      else openSearch()(content);
      searchedTo = end;
    } else problems.add('a compressed part is cut off, damaged or too large');
  }
  return problems;
}

/** Where the frame that begins at an offset ends, by the lengths of its blocks; undefined where there is no frame. */
function frameEnd(readAt: ReadAt, offset: number): number | undefined {
  const header = readAt(offset, frameMagic.length + 1);
  if (!header.subarray(0, frameMagic.length).equals(frameMagic)) return undefined;
  const descriptor = header[frameMagic.length];
  // One bit is reserved, and zero.
  if (descriptor === undefined || (descriptor & 0b1000) !== 0) return undefined;
  const isSingleSegment = (descriptor & 0b10_0000) !== 0;
  const sizeFlag = descriptor >> 6;
  const sizeBytes = sizeFlag === 0 ? Number(isSingleSegment) : 2 ** sizeFlag;
  let end = offset + header.length + Number(!isSingleSegment) + (dictionaryIdBytes[descriptor & 0b11] ?? 0) + sizeBytes;
  for (;;) {
    const block = readAt(end, blockHeaderBytes);
    if (block.length < blockHeaderBytes) return undefined;
    const fields = block.readUIntLE(0, blockHeaderBytes);
    const type = (fields >> 1) & 0b11;
    if (type === 3) return undefined;
    end += blockHeaderBytes + (type === 1 ? 1 : fields >> 3);
    if ((fields & 1) === 1) return end + ((descriptor & 0b100) === 0 ? 0 : checksumBytes);
  }
}

/** The content of a whole frame; undefined when it is no frame, or its content has more than `bytesMax`. */
function decompressFrame(frame: Buffer, bytesMax: number): Buffer | undefined {
  try {
    return zstdDecompressSync(frame, { maxOutputLength: bytesMax });
  } catch {
    return undefined;
  }
}
