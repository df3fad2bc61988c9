import { AppError } from '../../core/errors.ts';

/** Formats whose content is searched. */
export type ReadFormat = 'gzip' | 'zstd' | 'zip' | 'tar';
/** Formats that this program cannot read. */
export type UnreadFormat = 'xz' | 'bzip2' | '7z' | 'rar' | 'lz4' | 'lzip' | 'compress';

/** How many bytes of a beginning tell its format. */
export const headBytes = 512;

/** The bytes with which each format begins, in hex. */
const signatures: readonly [ReadFormat | UnreadFormat, string][] = [
  ['gzip', '1f8b08'],
  ['zstd', '28b52ffd'],
  ['zip', '504b0304'],
  ['zip', '504b0506'],
  ['xz', 'fd377a585a00'],
  ['7z', '377abcaf271c'],
  ['rar', '526172211a07'],
  ['lz4', '04224d18'],
  ['lzip', '4c5a495001'],
  ['compress', '1f9d'],
];
/** The digit after `BZh` is the size of the blocks; then comes a first block, or the end of an empty file. */
const bzip2 = /^425a683[1-9](?:314159265359|177245385090)/;

/** The format of compressed or packed content, by its beginning; undefined for any other content. */
export function formatOf(head: Buffer): ReadFormat | UnreadFormat | undefined {
  if (head.toString('latin1', 257, 262) === 'ustar') return 'tar';
  const hex = head.toString('hex', 0, 16);
  if (bzip2.test(hex)) return 'bzip2';
  return signatures.find(([, signature]) => hex.startsWith(signature))?.[0];
}

/** Reads bytes at an offset. At the end there are fewer than asked for. */
export type ReadAt = (offset: number, length: number) => Buffer;

/** A file in a zip archive: where its bytes stand, and how they are compressed (0: not at all, 8: deflate). */
export type ZipMember = { start: number; bytes: number; method: number; isEncrypted: boolean };

const endBytes = 22;
const commentBytesMax = 0xffff;
const entryBytes = 46;
const localBytes = 30;
const directoryBytesMax = 256 << 20;

/**
 * The files in a zip archive, by its directory. The directory has to follow the files, with nothing after it, as in every
 * archive that common programs write. Throws `storage` for an archive that is damaged, or too large for this format.
 */
export function* zipMembers(readAt: ReadAt, size: number): Generator<ZipMember> {
  const tailStart = Math.max(0, size - endBytes - commentBytesMax);
  const tail = readAt(tailStart, size - tailStart);
  const at = tail.lastIndexOf('504b0506', undefined, 'hex');
  if (at === -1 || at + endBytes > tail.length) throw damaged('zip');
  const [count, bytes, start] = [tail.readUInt16LE(at + 10), tail.readUInt32LE(at + 12), tail.readUInt32LE(at + 16)];
  if (count === 0xffff || bytes === 0xff_ff_ff_ff || start === 0xff_ff_ff_ff || bytes > directoryBytesMax)
    throw new AppError('a zip archive is too large to be read', { code: 'storage' });
  const directory = readAt(start, bytes);
  let offset = 0;
  for (let member = 0; member < count; member += 1) {
    const entry = directory.subarray(offset, offset + entryBytes);
    if (entry.length < entryBytes || entry.readUInt32LE(0) !== 0x02_01_4b_50) throw damaged('zip');
    const localAt = entry.readUInt32LE(42);
    const local = readAt(localAt, localBytes);
    if (local.length < localBytes || local.readUInt32LE(0) !== 0x04_03_4b_50) throw damaged('zip');
    yield {
      start: localAt + localBytes + local.readUInt16LE(26) + local.readUInt16LE(28),
      bytes: entry.readUInt32LE(20),
      method: entry.readUInt16LE(10),
      isEncrypted: (entry.readUInt16LE(8) & 1) === 1,
    };
    offset += entryBytes + entry.readUInt16LE(28) + entry.readUInt16LE(30) + entry.readUInt16LE(32);
  }
}

/** How many bytes the file after a header of a tar archive has; undefined at the end of the archive. Throws `storage`. */
export function tarMemberBytes(header: Buffer): number | undefined {
  if (header.every((byte) => byte === 0)) return undefined;
  if (formatOf(header) !== 'tar') throw damaged('tar');
  // A size of 8 GiB or more is binary, and its first bit is set.
  if (((header[124] ?? 0) & 0x80) !== 0) return header.readUIntBE(130, 6);
  const digits = header.toString('latin1', 124, 136).replaceAll(/[\0 ]/g, '');
  if (!/^[0-7]+$/.test(digits)) throw damaged('tar');
  return Number.parseInt(digits, 8);
}

/** The error for an archive that cannot be followed to its end. */
export function damaged(format: string): AppError {
  return new AppError(`a part compressed or packed as ${format} is cut off or damaged`, { code: 'storage' });
}
