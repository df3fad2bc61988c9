import { join } from 'node:path';

/** Where all that is written only for a while goes: on the disk of the data folder, and as protected as the rest of it. */
export function temporaryFolder(dataDir: string): string {
  return join(dataDir, 'tmp');
}
