import { zstdDecompressSync } from 'node:zlib';

/** How every frame of Zstandard begins (RFC 8878). */
export const frameMagic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

const checksumBytes = 4;
const blockHeaderBytes = 3;
const dictionaryIdBytes = [0, 1, 2, 4] as const;

/** Reads bytes of a file; fewer than asked for at its end. */
export type ReadAt = (offset: number, length: number) => Buffer;

/** Where the frame that begins at an offset ends, by the lengths of its blocks; undefined where there is no frame. */
export function frameEnd(readAt: ReadAt, offset: number): number | undefined {
  const header = readAt(offset, frameMagic.length + 1);
  if (!header.subarray(0, frameMagic.length).equals(frameMagic)) return undefined;
  const descriptor = header[frameMagic.length];
  // One bit is reserved, and zero.
  if (descriptor === undefined || (descriptor & 0b1000) !== 0) return undefined;
  const isSingleSegment = (descriptor & 0b10_0000) !== 0;
  const sizeFlag = descriptor >> 6;
  const sizeBytes = sizeFlag === 0 ? Number(isSingleSegment) : 2 ** sizeFlag;
  let end =
    offset +
    header.length +
    Number(!isSingleSegment) +
    (dictionaryIdBytes[descriptor & 0b11] ?? 0) +
    sizeBytes;
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

/** What a whole frame holds; undefined where it is none after all, or holds more than `bytesMax`. */
export function decompressFrame(frame: Buffer, bytesMax: number): Buffer | undefined {
  try {
    return zstdDecompressSync(frame, { maxOutputLength: bytesMax });
  } catch {
    return undefined;
  }
}
