import { closeSync, constants, fsyncSync, openSync } from 'node:fs';

/** An open file, by its number. It is closed when it is disposed of. */
export type OpenFile = Disposable & { descriptor: number };

/** To read, and never to wait for the writer of a pipe. */
const toRead = constants.O_RDONLY | constants.O_NONBLOCK;

/** Opens a file as Node's `openSync` does, to read it unless `flags` say otherwise, to be held with `using`. Throws the system's error. */
export function openFile(path: string, flags: string | number = toRead, mode?: number): OpenFile {
  const descriptor = openSync(path, flags, mode);
  return { descriptor, [Symbol.dispose]: () => closeSync(descriptor) };
}

/** Makes a file's or folder's latest content survive a power cut. Throws the system's error. */
export function syncToDisk(path: string): void {
  using file = openFile(path);
  fsyncSync(file.descriptor);
}
