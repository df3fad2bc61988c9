import type { Findings } from './findings.ts';
import type { ListedFile } from './list-files.ts';
import type { Needles } from './needles.ts';
import { readRaw } from './read-raw.ts';
import type { SharedText } from './shared-text.ts';

/** Searches raw bytes for what is not shared. */
export type RawSearch = {
  /** Searches a file. Returns how many bytes it has. Rejects with the system's error. */
  file: (file: ListedFile) => Promise<number>;
  /** Searches the name of an entry of a folder. Returns what the report may call it: not by a name that tells. */
  name: (parent: string, name: string) => string;
};

/** Prepares the search of files and names, by the shared text that is known when they are searched. */
export function createRawSearch(needles: Needles, shared: SharedText, findings: Findings): RawSearch {
  const hitAt =
    (place: string) =>
    (shingle: number): void => {
      if (shared.has(shingle)) return;
      for (const { subject, encoding } of needles.ownersOf(shingle))
        findings.addRaw(subject, place, encoding);
    };
  return {
    file: async ({ path, place }) => {
      const { bytes, isPartlyUnread } = await readRaw(path, () => needles.search.openStream(hitAt(place)));
      if (isPartlyUnread) findings.addUnreadable(place, 'a compressed part is cut off, damaged or too large');
      return bytes;
    },
    name: (parent, name) => {
      const found: number[] = [];
      needles.search.openStream((shingle) => void found.push(shingle))(Buffer.from(name));
      const telling = found.filter((shingle) => !shared.has(shingle));
      telling.forEach(hitAt(`${parent}/(a name)`));
      return telling.length > 0 ? '(a name)' : name;
    },
  };
}
