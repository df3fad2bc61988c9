import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn, temporaryFolder } from '../core/folder.ts';

/** How the folder of a drill begins, in the folder for temporary files. */
export const drillPrefix = 'drill-';

/**
 * Removes the folders of drills. A drill holds the lease of the data folder, so whoever holds it knows that none is going on, and
 * that a kill has left these. They hold invented persons only. Throws the system's error.
 */
export function removeLeftDrills(dataDir: string): void {
  const parent = temporaryFolder(dataDir);
  for (const name of namesIn(parent))
    if (name.startsWith(drillPrefix)) rmSync(join(parent, name), { recursive: true, force: true });
}
