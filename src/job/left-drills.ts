import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sha256 } from '../core/digest.ts';
import { namesIn, readRegularFile, reportsFolder, temporaryFolder } from '../core/folder.ts';
import type { LedgerReader } from '../ledger/ledger.ts';

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

/** The file for the report of a drill, by the time at which it began (ISO 8601). */
export function drillFile(dataDir: string, startedAt: string): string {
  const name = `${startedAt.slice(0, 10)}-${sha256(startedAt).slice(0, 8)}.json`;
  return join(reportsFolder(dataDir), 'drills', name);
}

/**
 * Removes the report of a drill that a kill kept from its entry. A kill leaves one, as the program wrote it and newer than the last
 * entry of a drill: anything else stays for `audit verify` to tell. The caller holds the lease. Throws the system's error.
 */
export function removeUnrecordedDrill(dataDir: string, { drills }: Pick<LedgerReader, 'drills'>): void {
  const last = [...drills.values()].at(-1) ?? '';
  const folder = dirname(drillFile(dataDir, last));
  const left = namesIn(folder).flatMap((name) => {
    if (!/^[\d-]{10}-[\da-f]{8}\.json$/.test(name) || name.slice(0, 10) < last.slice(0, 10)) return [];
    const path = join(folder, name);
    const text = readRegularFile(path) ?? '';
    const startedAt = /"startedAt": "([^"]+)"/.exec(text)?.[1] ?? '';
    return startedAt > last && path === drillFile(dataDir, startedAt) && !drills.has(sha256(text)) ? [path] : [];
  });
  if (left.length === 1) rmSync(left.join(''));
}
