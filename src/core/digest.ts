import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** SHA-256 of a text or of bytes, as lower-case hex. */
export function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** SHA-256 of a file's bytes, as lower-case hex, read in constant memory. Rejects with the system's error. */
export async function sha256File(path: string): Promise<string> {
  return (await measureFile(path)).sha256;
}

/** How many bytes a file has, and their SHA-256 as `sha256File` reads it. */
export async function measureFile(path: string): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of createReadStream(path)) {
    bytes += (chunk as Buffer).length;
    hash.update(chunk as Buffer);
  }
  return { bytes, sha256: hash.digest('hex') };
}
