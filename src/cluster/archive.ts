import { createReadStream, mkdirSync, writeFileSync, statSync, readdirSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { readChunks, type Chunks } from '../core/chunk-reader.ts';
import { AppError } from '../core/errors.ts';
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
    const stat = statSync(join(folder, name), { throwIfNoEntry: false });
    if (stat?.isFile()) return [{ path: name, from: join(folder, name) }];
    if (!stat?.isDirectory()) return [];
    return readdirSync(join(folder, name), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted()
      .map((from) => ({ path: from.slice(folder.length + 1).replaceAll(sep, '/'), from }));
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
export async function unpackFiles(content: Chunks, folder: string): Promise<void> {
  const reader = readChunks(content);
  const length = (await reader.take(lengthBytes)).readUInt32BE();
  const list = await reader.take(Math.min(length, headBytesMax));
  for (const { path, bytes } of JSON.parse(list.toString()) as { path: string; bytes: number }[]) {
    using file = openBelow(folder, path);
    const end = reader.position() + bytes;
    for await (const chunk of reader.chunks(bytes)) writeFileSync(file.descriptor, chunk);
    if (reader.position() < end) throw new Error('an archive that ends too early');
  }
  if ((await reader.peek(1)).length > 0) throw new Error('an archive that goes on behind its files');
}

function openBelow(folder: string, path: string): OpenFile {
  // The archive is genuine, but a program of a later version may have made it.
  if (path.startsWith('/') || path.split('/').some((part) => ['', '.', '..'].includes(part)))
    throw new Error('a path that leads out of the folder');
  mkdirSync(dirname(join(folder, path)), { recursive: true, mode: 0o700 });
  return openFile(join(folder, path), 'w', 0o600);
}
