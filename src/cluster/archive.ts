import { createReadStream, mkdirSync, openSync, closeSync, writeSync, statSync, readdirSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { AppError } from '../core/errors.ts';

/** A file of an archive: its path below the folder that the archive is of, with slashes, and where it can be read. */
export type ArchivedFile = { path: string; from: string };

/** What is in an archive beside the mirror. */
export const archived = ['restore.key', 'keys', 'ledger', 'reports'];

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

/** Files as one stream of bytes: a line of JSON that lists them, and their contents. They must not change meanwhile. */
export async function* packFiles(files: readonly ArchivedFile[]): AsyncGenerator<Buffer> {
  const listed = files.map(({ path, from }) => ({ path, from, bytes: statSync(from).size }));
  yield Buffer.from(`${JSON.stringify(listed.map(({ path, bytes }) => ({ path, bytes })))}\n`);
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
  let head: Buffer | undefined = Buffer.alloc(0);
  let files: { path: string; left: number }[] = [];
  let open: number | undefined;
  const next = (): void => {
    // Files without bytes have no chunk of their own.
    while (open === undefined && files[0]) {
      open = openBelow(folder, files[0].path);
      if (files[0].left === 0) finish();
    }
  };
  const finish = (): void => {
    if (open !== undefined) closeSync(open);
    open = undefined;
    files.shift();
  };
  try {
    for await (const chunk of content) {
      let rest = chunk;
      if (head) {
        head = Buffer.concat([head, chunk]);
        const end = head.indexOf(10);
        if (end === -1 && head.length > headBytesMax) throw new Error('an archive without a list');
        if (end === -1) continue;
        files = (JSON.parse(head.toString('utf8', 0, end)) as { path: string; bytes: number }[]).map(
          ({ path, bytes }) => ({ path, left: bytes }),
        );
        rest = head.subarray(end + 1);
        head = undefined;
        next();
      }
      while (rest.length > 0) {
        const [current] = files;
        if (open === undefined || !current) throw new Error('an archive that goes on behind its files');
        const written = writeSync(open, rest.subarray(0, current.left));
        current.left -= written;
        rest = rest.subarray(written);
        if (current.left === 0) finish();
        next();
      }
    }
    if (files.length > 0 || head) throw new Error('an archive that ends too early');
  } finally {
    if (open !== undefined) closeSync(open);
  }
}

function openBelow(folder: string, path: string): number {
  // The archive is genuine, but a program of a later version may have made it.
  if (path.startsWith('/') || path.split('/').some((part) => ['', '.', '..'].includes(part)))
    throw new Error('a path that leads out of the folder');
  mkdirSync(dirname(join(folder, path)), { recursive: true, mode: 0o700 });
  return openSync(join(folder, path), 'w', 0o600);
}
