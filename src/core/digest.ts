import { createHash, type Hash } from 'node:crypto';
import { readSync } from 'node:fs';
import { openFile, type OpenFile } from './open-file.ts';
import { pausing } from './pausing.ts';

/** SHA-256 of a text or of bytes, as lower-case hex. */
export function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** SHA-256 of a file's bytes, as lower-case hex, read in constant memory. Rejects with the system's error. */
export async function sha256File(path: string): Promise<string> {
  return (await measureFile(path)).sha256;
}

/** Read into again and again: V8 answers a new buffer for each chunk with collections of all garbage, or with none for long. */
const chunk = Buffer.allocUnsafeSlow(1 << 18);

/** Hashes the next bytes of a file. Returns how many they are. */
function hashNext(hash: Hash, { descriptor }: OpenFile): number {
  const read = readSync(descriptor, chunk);
  hash.update(chunk.subarray(0, read));
  return read;
}

/** How many bytes a file has, and their SHA-256, at once: for a change of files that must not be interrupted. Throws the system's error. */
export function measureFileNow(path: string): Measured {
  const hash = createHash('sha256');
  using file = openFile(path);
  let bytes = 0;
  for (let read = 0; (read = hashNext(hash, file)) > 0;) bytes += read;
  return { bytes, sha256: hash.digest('hex') };
}

/** The same, with pauses for other work. Of a file that is longer than `bytesMax`, reads little more. Rejects with the system's error. */
export async function measureFile(path: string, bytesMax = Infinity): Promise<Measured> {
  const hash = createHash('sha256');
  const pause = pausing();
  using file = openFile(path);
  let bytes = 0;
  for (let read = 0; bytes <= bytesMax && (read = hashNext(hash, file)) > 0; await pause()) bytes += read;
  return { bytes, sha256: hash.digest('hex') };
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
