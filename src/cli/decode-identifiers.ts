import { AppError } from '../core/errors.ts';

/** The byte order marks of the encodings that are read where the mark says so. */
const marks: readonly { bytes: Buffer; encoding: 'utf-8' | 'utf-16le' | 'utf-16be' }[] = [
  { bytes: Buffer.from([0xef, 0xbb, 0xbf]), encoding: 'utf-8' },
  { bytes: Buffer.from([0xff, 0xfe]), encoding: 'utf-16le' },
  { bytes: Buffer.from([0xfe, 0xff]), encoding: 'utf-16be' },
];

/**
 * The text of a file of identifiers: UTF-8, or UTF-16 with a byte order mark. Throws `usage` for every other encoding, and
 * names the one that it seems to be: a letter that is read wrongly makes another identifier.
 */
export function decodeIdentifiers(bytes: Buffer): string {
  const { encoding = 'utf-8', bytes: mark } = marks.find((one) => bytes.indexOf(one.bytes) === 0) ?? {};
  // The first letters of a kind are ASCII, so that the null bytes beside them tell the width of a letter.
  const nulls = [...bytes.subarray(0, 4)].filter((byte) => byte === 0).length;
  if (nulls > 2 || (nulls === 2 && (mark || bytes[0] === bytes[1]))) throw refusal('in UTF-32');
  if (nulls === 2) throw refusal('in UTF-16 without a byte order mark');
  const text = decode(bytes, encoding);
  if (text !== undefined) return text;
  throw refusal(
    encoding === 'utf-8'
      ? `not UTF-8 from line ${lineOfFirstFault(bytes)} on: they seem to be Latin-1, Windows-1252 or the like`
      : 'damaged UTF-16',
  );
}

function decode(bytes: Buffer, encoding: string): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function lineOfFirstFault(bytes: Buffer): number {
  let [least, most] = [0, bytes.length];
  // The longest beginning that can be read, but for a letter that is cut off.
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (isReadable(bytes.subarray(0, middle))) least = middle;
    else most = middle - 1;
  }
  return bytes
    .subarray(0, least)
    .toString('utf8')
    .split(/\r\n|\r|\n/).length;
}

function isReadable(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function refusal(found: string): AppError {
  return new AppError(`the identifiers are ${found}`, {
    code: 'usage',
    hint: 'save the file as UTF-8 (in a spreadsheet: CSV UTF-8, separated by commas); nothing was done',
  });
}
