import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** SHA-256 of a text, as lower-case hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** SHA-256 of a file's bytes, as lower-case hex, read in constant memory. Rejects with the system's error. */
export async function sha256File(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
