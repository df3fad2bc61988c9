import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '../../core/errors.ts';
import type { Findings } from './findings.ts';
import type { Needles } from './needles.ts';
import { readRaw } from './read-raw.ts';
import { mirrorPlace } from './scan-task.ts';
import type { SharedText } from './shared-text.ts';

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

/** Searches raw bytes for what is not shared. */
export type RawSearch = {
  /** Searches a file. Returns how many bytes it has. Rejects with the system's error. */
  file: (file: ListedFile) => Promise<number>;
  /** Searches a part of a file, as it stands. */
  part: (place: string, bytes: Uint8Array) => void;
  /** Searches the name of an entry of a folder. Returns what the report may call it: not by a name that tells. */
  name: (parent: string, name: string) => string;
};

/** Prepares the search of files and names, by the shared text that is known when they are searched. */
export function createRawSearch(needles: Needles, shared: SharedText, findings: Findings): RawSearch {
  const hitAt =
    (place: string, file?: string) =>
    (shingle: number): void => {
      if (shared.has(shingle, file)) return;
      for (const { subject, encoding } of needles.ownersOf(shingle))
        findings.addRaw(subject, place, encoding);
    };
  return {
    file: async ({ path, place }) => {
      // Words of the program's own stand in a file as they are: not in what is compressed within it.
      const { bytes, isPartlyUnread } = await readRaw(path, (isWhole) =>
        needles.search.openStream(hitAt(place, isWhole ? ownFileOf(place) : undefined)),
      );
      if (isPartlyUnread) findings.addUnreadable(place, 'a compressed part is cut off, damaged or too large');
      return bytes;
    },
    part: (place, bytes) => needles.search.openStream(hitAt(place))(bytes),
    name: (parent, name) => {
      const found: number[] = [];
      needles.search.openStream((shingle) => void found.push(shingle))(Buffer.from(name));
      const telling = found.filter((shingle) => !shared.has(shingle));
      telling.forEach(hitAt(`${parent}/(a name)`));
      return telling.length > 0 ? '(a name)' : name;
    },
  };
}

/** The file by which own words are known: SQLite's log and index hold what the mirror's file does. */
function ownFileOf(place: string): string {
  return place.startsWith(`${mirrorPlace}-`) ? mirrorPlace : place;
}
