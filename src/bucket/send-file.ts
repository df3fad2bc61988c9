import { createReadStream } from 'node:fs';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { explainStorageError } from '../core/storage-error.ts';

/**
 * Sends the bytes of a file, and closes it. A file that cannot be read ends the call: an SDK whose request was aborted does not
 * listen any more, and a stream that then fails to open would end the process. Rejects with `storage`, or as `send` does.
 */
export async function sendFile<T>(path: string, send: (body: Readable) => Promise<T>): Promise<T> {
  const body = createReadStream(path);
  const failed = new Promise<never>((_resolve, reject) => {
    body.once('error', (error) => reject(explainStorageError(error, dirname(path)) ?? error));
  });
  try {
    return await Promise.race([send(body), failed]);
  } finally {
    body.destroy();
  }
}
