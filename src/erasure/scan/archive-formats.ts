import { AppError } from '../../core/errors.ts';

/** A format whose content is searched, or the name of one that this program cannot read. */
export type PackedFormat = 'gzip' | 'zstd' | 'zip' | 'tar' | { unread: string };

/** How many bytes of a beginning tell its format. */
export const headBytes = 512;

/**
 * The bytes with which each format begins, in hex. After `BZh` stands the size of the blocks of bzip2, and then a block. Avro is
 * packed unless its first header says that it is not, as in the files that this program writes.
 */
const signatures: readonly [PackedFormat, RegExp][] = [
  ['gzip', /^1f8b08/],
  ['zstd', /^28b52ffd/],
  ['zip', /^504b(?:0304|0506)/],
  [{ unread: 'xz' }, /^fd377a585a00/],
  [{ unread: 'lzma' }, /^5d0000/],
  [{ unread: 'bzip2' }, /^425a683[1-9](?:314159265359|177245385090)/],
  [{ unread: '7z' }, /^377abcaf271c/],
  [{ unread: 'rar' }, /^526172211a07/],
  [{ unread: 'lz4' }, /^04224d18/],
  [{ unread: 'lzip' }, /^4c5a495001/],
  [{ unread: 'snappy' }, /^ff060000734e61507059/],
  [{ unread: 'compress' }, /^1f9d/],
  [{ unread: 'cab' }, /^4d53434600000000/],
  [{ unread: 'ar' }, /^213c617263683e0a/],
  [{ unread: 'pdf' }, /^255044462d/],
  [{ unread: 'parquet' }, /^50415231/],
  [{ unread: 'Avro' }, /^4f626a01(?!..146176726f2e636f646563086e756c6c)/],
];

/** The format of compressed or packed content, by its beginning; undefined for any other content. */
export function formatOf(head: Buffer): PackedFormat | undefined {
  if (isTarHeader(head)) return 'tar';
  const hex = head.toString('hex', 0, 32);
  return signatures.find(([, signature]) => signature.test(hex))?.[0];
}

/** Whether a file of a tar archive follows. Archives of before POSIX have no mark, but a checksum. */
function isTarHeader(header: Buffer): boolean {
  if (header.toString('latin1', 257, 262) === 'ustar') return true;
  const digits = header.toString('latin1', 148, 156).replaceAll(/[\0 ]/g, '');
  if (header.length < headBytes || !/^[0-7]+$/.test(digits)) return false;
  let sum = 0;
  for (const [at, byte] of header.entries()) sum += at >= 148 && at < 156 ? 0x20 : byte;
  return sum === Number.parseInt(digits, 8);
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

/** The directory of a zip archive: its files, its bytes, its offset, and where the archive begins in the file. */
type ZipDirectory = { count: number; bytes: number; start: number; base: number };

/** The end of a zip archive; undefined where there is none. Another program can stand before the archive. */
function zipDirectory(readAt: ReadAt, size: number): ZipDirectory | undefined {
  const tailStart = Math.max(0, size - endBytes - commentBytesMax);
  const tail = readAt(tailStart, size - tailStart);
  const at = tail.lastIndexOf('504b0506', undefined, 'hex');
  if (at === -1 || at + endBytes > tail.length) return undefined;
  const [count, bytes, start] = [tail.readUInt16LE(at + 10), tail.readUInt32LE(at + 12), tail.readUInt32LE(at + 16)];
  return { count, bytes, start, base: tailStart + at - bytes - start };
}

/** Whether a file ends with a zip archive, and begins with something else, as one that extracts itself. */
export function endsAsZip(readAt: ReadAt, size: number): boolean {
  const directory = zipDirectory(readAt, size);
  if (!directory || directory.count === 0) return false;
  const { start, base } = directory;
  return isZip64(directory) || (base >= 0 && readAt(base + start, 4).toString('hex') === '504b0102');
}

function isZip64({ count, bytes, start }: ZipDirectory): boolean {
  return count === 0xffff || bytes === 0xff_ff_ff_ff || start === 0xff_ff_ff_ff;
}

/**
 * The files in a zip archive, by its directory. The directory has to follow the files, as in every archive that common
 * programs write. Throws `storage` for an archive that is damaged, or in the form for large archives (zip64).
 */
export function* zipMembers(readAt: ReadAt, size: number): Generator<ZipMember> {
  const found = zipDirectory(readAt, size);
  if (!found) throw damaged('zip');
  const { count, bytes, start, base } = found;
  if (isZip64(found) || bytes > directoryBytesMax) throw tooLarge();
  if (base < 0) throw damaged('zip');
  const directory = readAt(base + start, bytes);
  let offset = 0;
  for (let member = 0; member < count; member += 1) {
    const entry = directory.subarray(offset, offset + entryBytes);
    if (entry.length < entryBytes || entry.readUInt32LE(0) !== 0x02_01_4b_50) throw damaged('zip');
    if ([20, 24, 42].some((field) => entry.readUInt32LE(field) === 0xff_ff_ff_ff)) throw tooLarge();
    const localAt = base + entry.readUInt32LE(42);
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

function tooLarge(): AppError {
  return new AppError('a zip archive in the form for large archives (zip64), which this program cannot read', {
    code: 'storage',
  });
}

/** The error for an archive that cannot be followed to its end. */
export function damaged(format: string): AppError {
  return new AppError(`a part compressed or packed as ${format} is cut off or damaged`, { code: 'storage' });
}
