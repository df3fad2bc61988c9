import { createReadStream } from 'node:fs';
import { pipeline, Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflateRaw, createZstdDecompress } from 'node:zlib';
import { readChunks, type ChunkReader, type Chunks } from '../../core/chunk-reader.ts';
import { AppError } from '../../core/errors.ts';
import { damaged, endsAsZip, formatOf, headBytes, tarMemberBytes, zipMembers, type ReadAt } from './archive-formats.ts';
import type { ShingleStream } from './shingle-search.ts';

/** How much compressed content is read: so many bytes in any case, and beyond that so many times the file's own bytes. */
export type ContentLimits = { bytesFree: number; ratioMax: number };
export const contentLimits: ContentLimits = { bytesFree: 1 << 30, ratioMax: 250 };

/** A zip archive within another archive is held in memory. */
const innerZipBytesMax = 64 << 20;
/** An archive can lie in an archive so many times. */
const depthMax = 5;
const chunkBytes = 1 << 20;

/** What a search of compressed content is made with. `problems`: why content was not searched, in whole or in part. */
type Search = { openSearch: () => ShingleStream; problems: Set<string>; take: (bytes: number) => void };

/** A file whose bytes as they stand are searched by the caller. */
type PackedFile = { path: string; size: number; readAt: ReadAt };

/**
 * Searches the content of a compressed or packed file, and of such files within it: gzip, Zstandard, zip and tar, and brotli
 * by the name `.br`. Constant memory, but for a zip archive within another. Returns the reasons why something was not searched.
 * Rejects with the system's error.
 */
export async function searchPackedFile(
  { path, size, readAt }: PackedFile,
  openSearch: () => ShingleStream,
  limits: ContentLimits,
): Promise<Set<string>> {
  let left = Math.max(limits.bytesFree, size * limits.ratioMax);
  const take = (bytes: number): void => {
    left -= bytes;
    if (left < 0) throw new AppError('its content is too large for its size', { code: 'storage' });
  };
  const search: Search = { openSearch, problems: new Set(), take };
  const head = readAt(0, headBytes);
  const format = path.endsWith('.br') ? 'brotli' : formatOf(head);
  const isSelfExtracting = format === undefined && !isDatabase(head) && endsAsZip(readAt, size);
  // The columns of a file with this name are decoded.
  if (path.endsWith('.parquet')) return search.problems;
  if (format === 'zip' || isSelfExtracting) await noting(search, () => searchZip(search, readAt, size, 1));
  else if (format === 'brotli')
    await searchUnpacked(search, createReadStream(path), createBrotliDecompress(), format, 1);
  else if (format !== undefined) await searchContent(search, createReadStream(path), 1);
  return search.problems;
}

async function searchContent(search: Search, content: Chunks, depth: number): Promise<void> {
  const reader = readChunks(content);
  const format = formatOf(await reader.peek(headBytes));
  if (format !== undefined && depth > depthMax) {
    search.problems.add('archives lie in it too deep');
    return;
  }
  switch (format) {
    case undefined: {
      const stream = search.openSearch();
      let border: Buffer = Buffer.alloc(0);
      for await (const chunk of reader.chunks()) {
        stream(chunk);
        if (depth > 1 && holdsZip(Buffer.concat([border, chunk])))
          search.problems.add('a zip archive behind other content within an archive');
        border = chunk.subarray(1 - localHeadBytes);
      }
      return;
    }
    case 'gzip':
      return searchUnpacked(search, reader.chunks(), createGunzip({ chunkSize: chunkBytes }), format, depth);
    case 'zstd':
      return searchUnpacked(search, reader.chunks(), createZstdDecompress({ chunkSize: chunkBytes }), format, depth);
    case 'tar':
      return noting(search, () => searchTar(search, reader, depth));
    case 'zip': {
      const whole = await reader.take(innerZipBytesMax + 1);
      if (whole.length > innerZipBytesMax) {
        search.problems.add('a zip archive within it is too large');
        return;
      }
      const readAt: ReadAt = (offset, length) => whole.subarray(offset, offset + length);
      // Names, and files that are not compressed.
      search.openSearch()(whole);
      return noting(search, () => searchZip(search, readAt, whole.length, depth));
    }
    default:
      search.problems.add(`a part compressed as ${format.unread}, which this program cannot read`);
  }
}

/** Whether a file is SQLite's: a person can have a name that looks like an archive. */
function isDatabase(head: Buffer): boolean {
  return /^(?:53514c69746520666f726d6174203300|377f068[23])/.test(head.toString('hex', 0, 16));
}

const localHeadBytes = 10;

/** Whether a file of a zip archive begins somewhere: the mark, then a version and a method that there are. */
function holdsZip(bytes: Buffer): boolean {
  for (let at = bytes.indexOf('504b0304', 0, 'hex'); at !== -1; at = bytes.indexOf('504b0304', at + 1, 'hex')) {
    if (at + localHeadBytes > bytes.length) return false;
    if (bytes.readUInt16LE(at + 4) <= 63 && bytes.readUInt16LE(at + 8) <= 99) return true;
  }
  return false;
}

/**
 * Searches what a decompressor makes of content. Reading it fails with the system's error, the content with a problem: so does
 * what stands behind the end of compressed content, which the decompressor passes over without a word.
 */
async function searchUnpacked(
  search: Search,
  content: Chunks,
  unpacker: Transform & { readonly bytesWritten: number },
  format: string,
  depth: number,
): Promise<void> {
  let failure: unknown;
  let given = 0;
  const source = Readable.from(
    (async function* () {
      for await (const chunk of content) {
        given += chunk.length;
        yield chunk;
      }
    })(),
  );
  source.once('error', (error) => (failure = error));
  pipeline(source, unpacker, () => undefined);
  await noting(search, async () => {
    async function* counted(): AsyncGenerator<Buffer> {
      try {
        for await (const chunk of unpacker as Chunks) {
          search.take(chunk.length);
          yield chunk;
        }
      } catch (error) {
        if (error instanceof AppError || failure !== undefined) throw failure ?? error;
        throw damaged(format);
      }
    }
    try {
      await searchContent(search, counted(), depth + 1);
      if (unpacker.bytesWritten < given) throw damaged(format);
    } finally {
      source.destroy();
      unpacker.destroy();
    }
  });
}

async function searchTar(search: Search, reader: ChunkReader, depth: number): Promise<void> {
  for (;;) {
    const header = await reader.take(headBytes);
    if (header.length === 0) return;
    if (header.length < headBytes) throw damaged('tar');
    const bytes = tarMemberBytes(header);
    if (bytes === undefined) continue;
    // The name of the file.
    search.openSearch()(header);
    const end = reader.position() + Math.ceil(bytes / headBytes) * headBytes;
    await searchContent(search, reader.chunks(bytes), depth + 1);
    for await (const _rest of reader.chunks(end - reader.position()));
    if (reader.position() < end) throw damaged('tar');
  }
}

async function searchZip(search: Search, readAt: ReadAt, size: number, depth: number): Promise<void> {
  for (const { start, bytes, method, isEncrypted } of zipMembers(readAt, size)) {
    const content = chunksAt(readAt, start, bytes);
    if (isEncrypted) search.problems.add('a file within a zip archive is encrypted');
    else if (method === 0) await searchContent(search, content, depth + 1);
    else if (method === 8)
      await searchUnpacked(search, content, createInflateRaw({ chunkSize: chunkBytes }), 'zip', depth);
    else
      search.problems.add(
        `a file within a zip archive is compressed by method ${method}, which this program cannot read`,
      );
  }
}

/** Does something, and notes the problem where the content, and not the system, is why it cannot be done. */
async function noting({ problems }: Search, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    problems.add(error.message);
  }
}

async function* chunksAt(readAt: ReadAt, start: number, bytes: number): AsyncGenerator<Buffer> {
  for (let offset = 0; offset < bytes;) {
    const chunk = await Promise.resolve(readAt(start + offset, Math.min(chunkBytes, bytes - offset)));
    if (chunk.length === 0) throw damaged('zip');
    offset += chunk.length;
    yield chunk;
  }
}
