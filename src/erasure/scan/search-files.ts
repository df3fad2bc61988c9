import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '../../core/errors.ts';
import { type Encoding, type Findings, mirrorPlace } from './scan-task.ts';
import type { Needles } from './needles.ts';
import { publishedFileAt } from '../../snapshot/published-files.ts';
import type { SharedText } from './shared-text.ts';
import type { ShingleStream } from './shingle-search.ts';
import { createUtf16Search } from './utf16-search.ts';
import { type ReadAt, whyUnread } from './unread-formats.ts';

/** A file to read; or an entry that cannot be read, with the problem. `place` is its name in the report. */
export type ListedFile = { path: string; place: string; problem: string | null };

/** How files are listed. */
export type Listing = {
  /** The name of an entry of a folder in places; default: its name. */
  nameEntry?: (parent: string, name: string) => string;
  /** Whether a file or folder is left out. */
  isLeftOut?: (place: string) => boolean;
  /** The files and folders that were listed already, by device and number. */
  seen?: Set<string>;
};

/** Every file at or below a path, once, through links. An entry that is no file or folder is listed, never opened. */
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

/** The names in a folder, or a file, or the reason why a path is neither. */
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

/** Searches raw bytes for shingles. A match waits until it is seen to be shared, or reported. */
export type RawSearch = {
  /** Searches a file. Returns how many bytes it has. Throws the system's error. */
  file: (file: ListedFile) => number;
  /** Searches a part of a file, as it stands. */
  part: (place: string, bytes: Uint8Array) => void;
  /** Searches the name of an entry of a folder. Returns the name for the report: `(a name)` for one that holds a match. */
  name: (parent: string, name: string) => string;
  /** The name of an entry of a folder, for the report. */
  shownName: (parent: string, name: string) => string;
  /** Lets go of the matches that are shared by now. Returns whether there are others. */
  isOpen: () => boolean;
  /** Reports the matches that are left. */
  report: () => void;
};

/** Matches in one place: how often each shingle stands there. */
type Matches = {
  place: string;
  where: { file: string | undefined; isFeed: boolean };
  encoding: Encoding | undefined;
  counts: Map<number, number>;
};

/** Prepares the search of files and names. */
export function createRawSearch(needles: Needles, shared: SharedText, findings: Findings): RawSearch {
  const matches = new Map<string, Matches>();
  const open = (place: string, file?: string, encoding?: Encoding): ShingleStream => {
    const key = [place, file, encoding].join('\0');
    return needles.search.openStream((shingle) => {
      const known = matches.get(key);
      const { counts } = known ?? { counts: new Map<number, number>() };
      if (!known) matches.set(key, { place, where: { file, isFeed: isFeedPlace(place) }, encoding, counts });
      counts.set(shingle, (counts.get(shingle) ?? 0) + 1);
    });
  };
  const hides = (name: string): boolean => {
    const found: number[] = [];
    needles.search.openStream((shingle) => void found.push(shingle))(Buffer.from(name));
    return found.some((shingle) => !shared.has(shingle));
  };
  return {
    file: ({ path, place }) => {
      const plain = open(place, fileOfFixedWords(place));
      const utf16 = createUtf16Search(() => open(place, undefined, 'utf-16'));
      const { bytes, unread } = readRaw(path, (chunk) => {
        plain(chunk);
        utf16(chunk);
      });
      if (unread !== undefined) findings.addUnreadable(place, unread);
      return bytes;
    },
    part: (place, bytes) => open(place)(bytes),
    name: (parent, name) => {
      open(`${parent}/${hiddenName}`)(Buffer.from(name));
      return hides(name) ? hiddenName : name;
    },
    shownName: (_parent, name) => (hides(name) ? hiddenName : name),
    isOpen: () => {
      for (const [key, { where, counts }] of matches) {
        for (const shingle of counts.keys()) if (shared.has(shingle, where)) counts.delete(shingle);
        if (counts.size === 0) matches.delete(key);
      }
      return matches.size > 0;
    },
    report: () => {
      for (const { place, encoding: found, counts } of matches.values())
        for (const [shingle, count] of counts)
          for (const { subject, encoding } of needles.ownersOf(shingle))
            for (let time = 0; time < count; time += 1) findings.addRaw(subject, place, found ?? encoding);
      matches.clear();
    },
  };
}

const hiddenName = '(a name)';

/** Whether a part of the place is a name that is not shown. */
export function isHidden({ place }: ListedFile): boolean {
  return place.includes(hiddenName);
}

/** Whether a feed of deletions stands in a file: the mirror's own, and the published ones with their drafts. */
function isFeedPlace(place: string): boolean {
  const [mirror, suffix] = [place.slice(0, mirrorPlace.length), place.slice(mirrorPlace.length)];
  if (mirror === mirrorPlace && ['', '-wal', '-shm', '-journal'].includes(suffix)) return true;
  return publishedFileAt(place)?.dataset === 'deletions' || place.startsWith('tmp/snapshot-deletions-');
}

/** The file whose fixed words count in a file. SQLite's log and index hold the same words as the mirror's file. */
function fileOfFixedWords(place: string): string {
  return place.startsWith(`${mirrorPlace}-`) ? mirrorPlace : place;
}

const chunkBytes = 1 << 20;

/**
 * Searches a file's bytes as they stand. Returns how many they are, and why what they hold is not read, where it is packed.
 * Bounded memory. Throws the system's error.
 */
export function readRaw(path: string, search: ShingleStream): { bytes: number; unread: string | undefined } {
  const descriptor = openSync(path, 'r');
  try {
    const readAt: ReadAt = (offset, length) => {
      const buffer = Buffer.allocUnsafe(length);
      return buffer.subarray(0, readSync(descriptor, buffer, 0, length, offset));
    };
    let bytes = 0;
    for (let chunk = readAt(0, chunkBytes); chunk.length > 0; chunk = readAt(bytes, chunkBytes)) {
      search(chunk);
      bytes += chunk.length;
    }
    return { bytes, unread: whyUnread(path, readAt, fstatSync(descriptor).size) };
  } finally {
    closeSync(descriptor);
  }
}
