import { fstatSync, readSync } from 'node:fs';
import { createHmac, hkdfSync, timingSafeEqual, type Hmac } from 'node:crypto';
import { AppError } from '../core/errors.ts';
import { readLines } from '../ledger/entry-file.ts';
import { openFile } from '../core/open-file.ts';

/** The place of an append: where the ledger stands, the number of its first entry, and the root hash of all entries before it. */
export type AppendPlace = { location: string; seq: number; rootBefore: Buffer };

const newline = Buffer.from('\n');
const markBytes = 'mark \n'.length + 64;

/**
 * The lines of an append, and behind them the mark of the cluster's key over its place and all lines. Who writes to the bucket
 * without that key can make no append, nor put one in the place of another or behind other entries.
 */
export function* markedLines(lines: Iterable<Buffer>, key: Buffer, place: AppendPlace): Generator<Buffer> {
  const hmac = begin(key, place);
  for (const line of lines) {
    hmac.update(line).update(newline);
    yield line;
  }
  yield markOf(hmac);
}

/** The lines of a marked file, without the mark. Throws `storage`, before the first line is read, where the mark is not right. */
export function* genuineLines(path: string, key: Buffer, place: AppendPlace): Generator<Buffer> {
  if (!isGenuine(path, key, place)) throw foreign(place);
  let before: Buffer | undefined;
  for (const line of readLines(path)) {
    if (before) yield before;
    before = line;
  }
}

/** Whether the last line of a file is the mark of all bytes before it. In constant memory: a line of somebody else's may be of any length. */
function isGenuine(path: string, key: Buffer, place: AppendPlace): boolean {
  using file = openFile(path);
  const hmac = begin(key, place);
  const end = fstatSync(file.descriptor).size - markBytes;
  if (end < 0) return false;
  const chunk = Buffer.alloc(1 << 18);
  const readAt = (at: number, max: number): Buffer =>
    chunk.subarray(0, readSync(file.descriptor, chunk, 0, Math.min(chunk.length, max), at));
  for (let at = 0; at < end;) {
    const read = readAt(at, end - at);
    if (read.length === 0) return false;
    hmac.update(read);
    at += read.length;
  }
  const mark = readAt(end, markBytes);
  return mark.length === markBytes && timingSafeEqual(mark, Buffer.concat([markOf(hmac), newline]));
}

function begin(key: Buffer, { location, seq, rootBefore }: AppendPlace): Hmac {
  const own = Buffer.from(hkdfSync('sha256', key, '', 'analytics-mirror cluster entries', 32));
  return createHmac('sha256', own).update(`${location}\n${seq}\n${rootBefore.toString('hex')}\n`);
}

function markOf(hmac: Hmac): Buffer {
  return Buffer.from(`mark ${hmac.digest('hex')}`);
}

function foreign({ location, seq }: AppendPlace): AppError {
  return new AppError(`the append of entry ${seq} in ${location} is of no machine of this cluster`, {
    code: 'storage',
    hint: 'nothing of it was taken or signed; find out who wrote it, remove that object, and run the command again (docs/cluster.md)',
    finding: 'foreign_entries',
  });
}
