import { createHash } from 'node:crypto';
import { constants, createReadStream, readSync } from 'node:fs';
import { openFile } from './open-file.ts';

/** SHA-256 of a text or of bytes, as lower-case hex. */
export function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** SHA-256 of a file's bytes, as lower-case hex, read in constant memory. Rejects with the system's error. */
export async function sha256File(path: string): Promise<string> {
  return (await measureFile(path)).sha256;
}

/** Read into again and again: V8 answers a new buffer of this size for each small file with collections of all garbage. */
const chunk = Buffer.allocUnsafeSlow(1 << 18);

/** The same, at once: for a change of files that must not be interrupted. Throws the system's error. */
export function measureFileNow(path: string): Measured {
  const hash = createHash('sha256');
  using file = openFile(path, constants.O_RDONLY | constants.O_NONBLOCK);
  let bytes = 0;
  for (let read = 0; (read = readSync(file.descriptor, chunk)) > 0; bytes += read) hash.update(chunk.subarray(0, read));
  return { bytes, sha256: hash.digest('hex') };
}

/** How many bytes a file has, and their SHA-256 as `sha256File` reads it. */
export function measureFile(path: string): Promise<Measured> {
  return measureStream(createReadStream(path));
}

/** Bytes and their SHA-256. */
export type Measured = { bytes: number; sha256: string };

/** Counts and hashes bytes as they come. Of a stream that is longer than `bytesMax`, reads little more than that. */
export async function measureStream(stream: AsyncIterable<unknown>, bytesMax = Infinity): Promise<Measured> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += (chunk as Buffer).length;
    hash.update(chunk as Buffer);
    if (bytes > bytesMax) break;
  }
  return { bytes, sha256: hash.digest('hex') };
}
