import { fstatSync, readdirSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '../../core/errors.ts';
import { isDraft } from '../../core/folder.ts';
import { openFile } from '../../core/open-file.ts';
import { isOwnName } from './known-formats.ts';
import { type Encoding, type Findings, mirrorPlace } from './scan-task.ts';
import type { Needles } from './needles.ts';
import { publishedFileAt } from '../../snapshot/published-files.ts';
import type { SharedText, Where } from './shared-text.ts';
import type { ShingleStream } from './shingle-search.ts';
import { createUtf16Search } from './utf16-search.ts';
import { type ReadAt, whyUnread } from './unread-formats.ts';

/** A file to read; or an entry that cannot be read, with the problem. `place` is its name in the report. */
export type ListedFile = { path: string; place: string; problem: string | null };

/** How files are listed. */
export type Listing = {
  /** Is called with each entry of a folder. */
  takeEntry?: (parent: string, name: string) => void;
  /** Whether a file or folder is left out. Then it counts as listed: it is read otherwise, or never. */
  isLeftOut?: (place: string) => boolean;
  /** The files and folders that were listed already, by device and number. */
  seen?: Set<string>;
};

/** Every file at or below a path, once, through links. An entry that is no file or folder is listed, never opened. */
export function* listFiles(path: string, place: string, listing: Listing = {}): Generator<ListedFile> {
  const { takeEntry, isLeftOut, seen = new Set() } = listing;
  const entry = look(path);
  if (typeof entry === 'string') {
    // A draft has become its file meanwhile.
    if (entry === 'ENOENT' && isDraft(path)) return;
    yield { path, place: place || '.', problem: entry };
    return;
  }
  if (seen.has(entry.id)) return;
  seen.add(entry.id);
  if (!entry.names) yield { path, place, problem: null };
  for (const name of entry.names ?? []) {
    takeEntry?.(place, name);
    const below = place === '' ? name : `${place}/${name}`;
    const child = join(path, name);
    const leftOut = isLeftOut?.(below) ? look(child) : undefined;
    if (!leftOut) yield* listFiles(child, below, { ...listing, seen });
    else if (typeof leftOut !== 'string') seen.add(leftOut.id);
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

/** Searches raw bytes for shingles. A match waits until rows of others are seen to hold it, or it is reported. */
export type RawSearch = {
  /** Searches a file. Returns how many bytes it has. Throws the system's error. */
  file: (file: ListedFile) => number;
  /** Searches a part of a file, as it stands. */
  part: (place: string, bytes: Uint8Array) => void;
  /** Searches the name of an entry of a folder. */
  name: (parent: string, name: string) => void;
  /** A place for the report, without the names in it that hold what no row of others is known to hold. */
  shownPlace: (place: string) => string;
  /** Whether matches wait that no row taken so far excuses. The others are let go. */
  isWaiting: () => boolean;
  /** Reports the matches that wait and that no row taken so far excuses. */
  report: () => void;
  /** Searches no longer for what rows taken so far hold. */
  passOverShared: () => void;
};

/** How often a shingle stands in a place. */
type Match = { shingle: number; place: string; where: Where; encoding: Encoding | undefined; count: number };

const hiddenName = '(a name)';

/** Prepares the search of files and names. */
export function createRawSearch(needles: Needles, shared: SharedText, findings: Findings): RawSearch {
  const waiting = new Set<Match>();
  const open = (place: string, file?: string, encoding?: Encoding): ShingleStream => {
    const where = { file, isFeed: isFeedPlace(place) };
    const inStream = new Map<number, Match>();
    return needles.search.openStream((shingle) => {
      const known = inStream.get(shingle);
      if (known) known.count += 1;
      if (known || shared.has(shingle, where)) return;
      const match = { shingle, place, where, encoding, count: 1 };
      inStream.set(shingle, match);
      waiting.add(match);
    });
  };
  const letExcusedGo = (): void => {
    for (const match of waiting) if (shared.has(match.shingle, match.where)) waiting.delete(match);
  };
  const hides = (name: string): boolean => {
    if (isOwnName(name)) return false;
    let isFound = false;
    needles.search.openStream((shingle) => void (isFound ||= !shared.has(shingle)))(Buffer.from(name));
    return isFound;
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
      if (!isOwnName(name)) open(parent === '' ? hiddenName : `${parent}/${hiddenName}`)(Buffer.from(name));
    },
    shownPlace: (place) =>
      place
        .split('/')
        .map((name) => (hides(name) ? hiddenName : name))
        .join('/'),
    isWaiting: () => {
      letExcusedGo();
      return waiting.size > 0;
    },
    report: () => {
      letExcusedGo();
      for (const { shingle, place, encoding, count } of waiting)
        for (const owner of needles.ownersOf(shingle))
          findings.addRaw(owner.subject, place, encoding ?? owner.encoding, count);
      waiting.clear();
    },
    passOverShared: () => needles.search.keep((shingle) => !shared.has(shingle)),
  };
}

/** Whether a feed of deletions stands in a file: the mirror's own, and the published ones with their drafts. */
function isFeedPlace(place: string): boolean {
  if (isMirrorFile(place)) return true;
  return publishedFileAt(place)?.dataset === 'deletions' || place.startsWith('tmp/snapshot-deletions-');
}

/** Whether a place is the mirror's file, or one that SQLite keeps beside it. */
export function isMirrorFile(place: string): boolean {
  return ['', '-wal', '-shm', '-journal'].some((suffix) => place === `${mirrorPlace}${suffix}`);
}

/** The file whose fixed words count in a file. SQLite's log and index hold the same words as the mirror's file. */
function fileOfFixedWords(place: string): string {
  return place.startsWith(`${mirrorPlace}-`) ? mirrorPlace : place;
}

/** Read into again and again: V8 answers a new buffer of this size for each small file with collections of all garbage. */
const chunk = Buffer.allocUnsafeSlow(1 << 20);

/**
 * Searches a file's bytes as they stand. Returns how many they are, and why what they hold is not read, where it is packed.
 * Bounded memory. Throws the system's error.
 */
export function readRaw(path: string, search: ShingleStream): { bytes: number; unread: string | undefined } {
  using file = openFile(path);
  const readAt: ReadAt = (offset, length) => {
    const buffer = Buffer.allocUnsafe(length);
    return buffer.subarray(0, readSync(file.descriptor, buffer, 0, length, offset));
  };
  let bytes = 0;
  for (let read = 0; (read = readSync(file.descriptor, chunk, 0, chunk.length, bytes)) > 0; bytes += read)
    search(chunk.subarray(0, read));
  return { bytes, unread: whyUnread(path, readAt, fstatSync(file.descriptor).size) };
}
