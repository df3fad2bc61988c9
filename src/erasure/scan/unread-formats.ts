/** Reads bytes at an offset. At the end there are fewer than asked for. */
export type ReadAt = (offset: number, length: number) => Buffer;

/** How many bytes of a beginning tell its format: a header of tar. */
const headBytes = 512;

/** The bytes with which compressed and packed files begin, in hex. After `BZh` stands the size of the blocks of bzip2, and then a block. */
const packed: readonly [format: string, beginning: RegExp][] = [
  ['gzip', /^1f8b08/],
  ['Zstandard', /^28b52ffd/],
  ['zip', /^504b(?:0304|0506)/],
  ['xz', /^fd377a585a00/],
  ['lzma', /^5d0000/],
  ['bzip2', /^425a683[1-9](?:314159265359|177245385090)/],
  ['7z', /^377abcaf271c/],
  ['rar', /^526172211a07/],
  ['lz4', /^04224d18/],
  ['lzip', /^4c5a495001/],
  ['snappy', /^ff060000734e61507059/],
  ['compress', /^1f9d/],
  ['cab', /^4d53434600000000/],
  ['ar', /^213c617263683e0a/],
];

/**
 * The same of other formats. Avro is packed unless its first header says that it is not, as in the files that this program writes. DuckDB
 * compresses texts by their columns; behind its name stands a version.
 */
const others: typeof packed = [
  ['pdf', /^255044462d/],
  ['parquet by another name', /^50415231/],
  ['Avro', /^4f626a01(?!..146176726f2e636f646563086e756c6c)/],
  ['DuckDB, with compressed columns', /^.{16}4455434b.{4}0{12}/],
];

/**
 * Why the content of a file is not searched: it is compressed or packed, by its bytes or as brotli by its name (`.br`). The reason
 * says what to do. Undefined for any other file. Throws the system's error.
 */
export function whyUnread(path: string, readAt: ReadAt, size: number): string | undefined {
  // The columns of a file with this name are decoded.
  if (path.endsWith('.parquet')) return undefined;
  const head = readAt(0, headBytes);
  const hex = head.toString('hex', 0, 32);
  const formatIn = (formats: typeof packed) => formats.find(([, beginning]) => beginning.test(hex))?.[0];
  const other = formatIn(others);
  if (other !== undefined) return `${other}, which this program cannot read`;
  const isZip = (): boolean => !isDatabase(hex) && endsAsZip(readAt, size);
  const format = isTarHeader(head) ? 'tar' : (formatIn(packed) ?? (path.endsWith('.br') ? 'brotli' : isZip() && 'zip'));
  return format ? `packed as ${format}: unpack it and scan again` : undefined;
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

/** Whether a file is SQLite's or DuckDB's, by its beginning in hex. A person in it can have a name that looks like an archive. */
export function isDatabase(hex: string): boolean {
  return /^(?:53514c69746520666f726d6174203300|377f068[23]|.{16}4455434b)/.test(hex);
}

const endBytes = 22;
const commentBytesMax = 0xffff;

/** Whether a file ends with a zip archive, whatever stands before it, as in one that extracts itself. */
function endsAsZip(readAt: ReadAt, size: number): boolean {
  const tailStart = Math.max(0, size - endBytes - commentBytesMax);
  const tail = readAt(tailStart, size - tailStart);
  const at = tail.lastIndexOf('504b0506', undefined, 'hex');
  if (at === -1 || at + endBytes > tail.length) return false;
  const [count, bytes] = [tail.readUInt16LE(at + 10), tail.readUInt32LE(at + 12)];
  // The archive's directory ends where this mark stands. A large archive (zip64) says elsewhere how long it is.
  const start = tailStart + at - bytes;
  const isLarge = count === 0xffff || bytes === 0xff_ff_ff_ff;
  return isLarge || (count > 0 && start >= 0 && readAt(start, 4).toString('hex') === '504b0102');
}
