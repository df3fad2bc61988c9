import type { Findings } from './findings.ts';
import type { ListedFile } from './list-files.ts';
import type { Needles } from './needles.ts';
import { readRaw } from './read-raw.ts';
import { mirrorPlace } from './scan-task.ts';
import type { SharedText } from './shared-text.ts';

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
