import type { IdentifierKind } from '../../contract/identity.ts';
import type { Encoding } from './encoded-forms.ts';
import { mirrorPlace, type ScanReport } from './scan-task.ts';

type Place = ScanReport['subjects'][number]['places'][number];

/** What a scan has found so far, without any personal data. Subjects are numbers: their places in the task. */
export type Findings = {
  addDecoded(subject: number, place: string): void;
  addRaw(subject: number, place: string, encoding: Encoding): void;
  addFenced(place: string, kind: IdentifierKind): void;
  addUnreadable(place: string, reason: string): void;
  /** Whether a subject was found in raw bytes, or decoded in a file other than the mirror. */
  isInFiles(subject: number): boolean;
  /** All that was found. Subjects are in the order of their numbers. */
  found(): Found;
};

/** What was found, as the report tells it. */
type Found = Pick<ScanReport, 'fenced' | 'unreadable'> & { subjects: { hits: number; places: Place[] }[] };

/** A person can stand in as many places as there are files. The report names no more than these. */
const placesMax = 1000;

/** Prepares an empty record for so many subjects. */
export function createFindings(subjects: number): Findings {
  const hits = Array.from({ length: subjects }, () => 0);
  const places = hits.map(() => new Map<string, Place>());
  const fenced = new Map<string, ScanReport['fenced'][number]>();
  const unreadable = new Map<string, ScanReport['unreadable'][number]>();
  const inFiles = new Set<number>();
  const add = (subject: number, found: Omit<Place, 'hits'>): void => {
    hits[subject] = (hits[subject] ?? 0) + 1;
    if (found.how === 'raw' || !found.place.startsWith(`${mirrorPlace}:`)) inFiles.add(subject);
    count(places[subject], `${found.how} ${found.encoding} ${found.place}`, found);
  };
  return {
    addDecoded: (subject, place) => add(subject, { place, how: 'decoded', encoding: null }),
    addRaw: (subject, place, encoding) => add(subject, { place, how: 'raw', encoding }),
    addFenced: (place, kind) => count(fenced, `${kind} ${place}`, { place, kind }),
    addUnreadable: (place, reason) => void unreadable.set(`${reason} ${place}`, { place, reason }),
    isInFiles: (subject) => inFiles.has(subject),
    found: () => ({
      subjects: hits.map((count, subject) => ({ hits: count, places: [...(places[subject]?.values() ?? [])] })),
      fenced: [...fenced.values()],
      unreadable: [...unreadable.values()],
    }),
  };
}

function count<T extends object>(counts: Map<string, T & { hits: number }> | undefined, key: string, found: T): void {
  const known = counts?.get(key);
  if (known) known.hits += 1;
  else if (counts && counts.size < placesMax) counts.set(key, { ...found, hits: 1 });
}
