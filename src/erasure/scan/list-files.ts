import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '../../core/errors.ts';

/** A file to read, or why there is none to read. `place` is what it is called in the report. */
export type ListedFile = { path: string; place: string; problem: string | null };

/** How files are listed. */
export type Listing = {
  /** What an entry of a folder is called in places; by its name unless given. */
  nameEntry?: (parent: string, name: string) => string;
  /** Whether a file or folder is left out, by its place. */
  isLeftOut?: (place: string) => boolean;
  /** What has been listed already, by device and number. */
  seen?: Set<string>;
};

/**
 * Every file at or below a path, links followed, each file and folder once. What is neither file nor folder, or cannot be
 * looked at, is listed with its problem and never opened.
 */
export function* listFiles(path: string, place: string, listing: Listing = {}): Generator<ListedFile> {
  const { nameEntry = (_parent, name) => name, isLeftOut, seen = new Set() } = listing;
  const entry = look(path);
  if (typeof entry === 'string') {
    yield { path, place: place || '.', problem: entry };
    return;
  }
  if (seen.has(entry.id)) return;
  seen.add(entry.id);
  if (!entry.names) yield { path, place, problem: null };
  for (const name of entry.names ?? []) {
    const below = [place, nameEntry(place, name)].filter((part) => part !== '').join('/');
    if (!isLeftOut?.(below)) yield* listFiles(join(path, name), below, { ...listing, seen });
  }
}

/** What is at a path: a folder's names, a file, or why neither. */
function look(path: string): { id: string; names?: string[] } | string {
  try {
    const stats = statSync(path, { bigint: true });
    const id = `${stats.dev}:${stats.ino}`;
    if (stats.isFile()) return { id };
    if (stats.isDirectory()) return { id, names: readdirSync(path).toSorted() };
    return 'not a file';
  } catch (error) {
    return systemCode(error) ?? 'cannot be looked at';
  }
}
