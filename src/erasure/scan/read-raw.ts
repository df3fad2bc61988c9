import { closeSync, createReadStream, openSync, readSync } from 'node:fs';
import { createGunzip, zstdDecompressSync } from 'node:zlib';
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

/** Reads bytes of a file. At its end there are fewer than asked for. */
type ReadAt = (offset: number, length: number) => Buffer;

/** How many bytes were read, and whether a compressed part of the file could not be read. */
export type RawRead = { bytes: number; isPartlyUnread: boolean };

/**
 * Searches a file's bytes as they are (`isWhole`), the content of each Zstandard frame within it (such as the pages of Parquet
 * files), and its content as a gzip file; each as a stream of its own. Constant memory. Rejects with the system's error.
 */
export async function readRaw(path: string, openSearch: (isWhole: boolean) => ShingleStream): Promise<RawRead> {
  const descriptor = openSync(path, 'r');
  try {
    const readAt: ReadAt = (offset, length) => {
      const buffer = Buffer.allocUnsafe(length);
      return buffer.subarray(0, readSync(descriptor, buffer, 0, length, offset));
    };
    const { bytes, frames } = searchWhole(readAt, openSearch(true));
    const areFramesRead = searchFrames(readAt, frames, () => openSearch(false));
    const isGzip = readAt(0, 2).equals(Buffer.from([0x1f, 0x8b]));
    const isGzipRead = !isGzip || (await searchGzip(path, openSearch(false)));
    return { bytes, isPartlyUnread: !areFramesRead || !isGzipRead };
  } finally {
    closeSync(descriptor);
  }
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

/** Searches all frames. Returns whether it could: a frame can be cut off or damaged. */
function searchFrames(readAt: ReadAt, frames: readonly number[], openSearch: () => ShingleStream): boolean {
  let areAllRead = true;
  let searchedTo = 0;
  for (const offset of frames) {
    if (offset < searchedTo) continue;
    const end = frameEnd(readAt, offset);
    const isWhole = end !== undefined && end - offset <= frameBytesMax;
    const content = isWhole && decompressFrame(readAt(offset, end - offset), frameContentBytesMax);
    if (content) {
      openSearch()(content);
      searchedTo = end;
    } else areAllRead = false;
  }
  return areAllRead;
}

async function searchGzip(path: string, search: ShingleStream): Promise<boolean> {
  const content = createReadStream(path).pipe(createGunzip());
  try {
    for await (const chunk of content) search(chunk as Buffer);
    return true;
  } catch {
    return false;
  }
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
