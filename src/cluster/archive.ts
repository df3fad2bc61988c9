import { createReadStream, mkdirSync, writeFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { AppError } from '../core/errors.ts';
import { entriesBelow, isRegularFile, pathBelow } from '../core/folder.ts';
import { openFile, type OpenFile } from '../core/open-file.ts';

/** A file of an archive: its path below the folder that the archive is of, with slashes, and where it can be read. */
export type ArchivedFile = { path: string; from: string };

/** What is in an archive beside the mirror. */
export const archived = ['restore.key', 'keys', 'ledger', 'reports'];

const lengthBytes = 4;
const headBytesMax = 16 * 1024 * 1024;

/** The files below a folder whose first name is one of `names`. */
export function listBelow(folder: string, names: readonly string[]): ArchivedFile[] {
  return names.flatMap((name) => {
    const from = join(folder, name);
    if (isRegularFile(from)) return [{ path: name, from }];
    const files = entriesBelow(from).filter((entry) => entry.isFile());
    return files
      .map((entry) => ({ path: pathBelow(folder, entry), from: join(entry.parentPath, entry.name) }))
      .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  });
}

/** The beginning of an archive: a list of its files as JSON, and before it how long that is. */
export function archiveHead(files: readonly { path: string; bytes: number }[]): Buffer {
  const list = Buffer.from(JSON.stringify(files.map(({ path, bytes }) => ({ path, bytes }))));
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32BE(list.length);
  return Buffer.concat([length, list]);
}

/** Files as one stream of bytes: what `archiveHead` makes, and their contents. They must not change meanwhile. */
export async function* packFiles(files: readonly ArchivedFile[]): AsyncGenerator<Buffer> {
  const listed = files.map(({ path, from }) => ({ path, from, bytes: statSync(from).size }));
  yield archiveHead(listed);
  for (const { from, bytes } of listed) {
    let left = bytes;
    if (bytes > 0)
      for await (const chunk of createReadStream(from, { end: bytes - 1 })) {
        left -= (chunk as Buffer).length;
        yield chunk as Buffer;
      }
    if (left !== 0) throw new AppError(`${from} has changed while it was read`, { code: 'storage', hint: 'try again' });
  }
}

/** Writes the files of an archive below a folder (0700, 0600). A file that stands there is replaced only by one of the same path. */
export async function unpackFiles(content: AsyncIterable<Buffer>, folder: string): Promise<void> {
  const source = content[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  /** The next bytes as they come: so many of them. */
  async function* take(bytes: number): AsyncGenerator<Buffer> {
    for (let left = bytes; left > 0;) {
      const next = held.length > 0 ? { value: held } : await source.next();
      if (next.done) throw new Error('an archive that ends too early');
      const taken = next.value.subarray(0, left);
      held = next.value.subarray(taken.length);
      left -= taken.length;
      yield taken;
    }
  }
  const length = (await buffer(take(lengthBytes))).readUInt32BE();
  const list = await buffer(take(Math.min(length, headBytesMax)));
  for (const { path, bytes } of JSON.parse(list.toString()) as { path: string; bytes: number }[]) {
    using file = openBelow(folder, path);
    for await (const chunk of take(bytes)) writeFileSync(file.descriptor, chunk);
  }
  if (held.length > 0 || !(await source.next()).done) throw new Error('an archive that goes on behind its files');
}

function openBelow(folder: string, path: string): OpenFile {
  // The archive is genuine, but a program of a later version may have made it.
  if (path.startsWith('/') || path.split('/').some((part) => ['', '.', '..'].includes(part)))
    throw new Error('a path that leads out of the folder');
  mkdirSync(dirname(join(folder, path)), { recursive: true, mode: 0o700 });
  return openFile(join(folder, path), 'w', 0o600);
}
