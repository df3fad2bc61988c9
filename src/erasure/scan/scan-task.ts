import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { identifierKinds, partsOf, type IdentifierKind, type Identity } from '../../contract/identity.ts';

/** How a text may stand in a file. */
export const encodings = ['utf-8', 'json', 'percent', 'base64', 'hex', 'latin-1', 'utf-16'] as const;
export type Encoding = (typeof encodings)[number];

/** The mirror's file, as places name it. */
export const mirrorPlace = 'mirror.db';

const texts = z.array(z.string()).readonly();
const count = z.int().min(0);

const ScanOptions = z.strictObject({
  dataDir: z.string(),
  phase: z.enum(['control', 'verify']),
  fence: z.boolean(),
  extraPaths: texts,
  /** Files of the data folder, relative to it, that are known to hold no person: they are not read. */
  passedOver: texts.optional(),
});

const SubjectTexts = z.strictObject({
  request: z.string(),
  /** Other texts of the subject: plain texts, and JSON texts, of which every text within is searched for. */
  values: texts,
});

const TaskLine = z.union([
  z.strictObject({ task: ScanOptions }),
  z.strictObject({ subject: SubjectTexts }),
  z.strictObject({
    identity: z.strictObject({ person_uuid: texts, person_id: texts, distinct_id: texts, recording_id: texts }),
  }),
  z.strictObject({ subjects: count, identifiers: count }),
]);
type TaskLine = z.infer<typeof TaskLine>;

/** One subject to look for. All but `request` is personal data. */
export type ScanSubject = z.infer<typeof SubjectTexts> & { identity: Identity };

/**
 * What to scan, and the subjects to look for. `control`, before a purge, ends as soon as each subject has been found;
 * `verify` reads everything. `fence`: every identifier that stands anywhere is also looked up in the fence.
 * `extraPaths`: files and folders outside the data folder, as whole paths.
 */
export type ScanTask = z.infer<typeof ScanOptions> & { subjects: readonly ScanSubject[] };

/** A subject whose identifiers are known some at a time: a person can have a million. */
export type OrderedSubject = z.infer<typeof SubjectTexts> & { identities: Iterable<Identity> };

/** A task whose subjects are known one at a time. */
export type ScanOrder = Omit<ScanTask, 'subjects'> & { subjects: Iterable<OrderedSubject> };

/** A task as lines of JSON: all but the subjects, each subject with parts of its identity, how many there were. */
export function* taskLines({ subjects, ...task }: ScanOrder): Generator<string> {
  yield lineOf({ task });
  const sums = { subjects: 0, identifiers: 0 };
  for (const { identities, ...subject } of subjects) {
    sums.subjects += 1;
    yield lineOf({ subject });
    for (const some of identities)
      for (const part of partsOf(some, identifiersEach)) {
        yield lineOf({ identity: part });
        sums.identifiers += countIn(part);
      }
  }
  yield lineOf(sums);
}

/** A line is read as one, whatever ends of lines stand in its texts. */
function lineOf(value: TaskLine): string {
  return `${JSON.stringify(value)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`)}\n`;
}

function countIn(identity: Identity): number {
  return identifierKinds.reduce((sum, kind) => sum + identity[kind].length, 0);
}

const identifiersEach = 1000;

/** Reads what `taskLines` has written. Throws for anything else, and for less. */
export async function readTask(lines: AsyncIterable<string> | Iterable<string>): Promise<ScanTask> {
  let task: z.infer<typeof ScanOptions> | undefined;
  const subjects: (ScanSubject & { identity: Record<IdentifierKind, string[]> })[] = [];
  let isWhole = false;
  for await (const text of lines) {
    const line = TaskLine.parse(JSON.parse(text));
    if ('task' in line) task = line.task;
    else if ('subject' in line)
      subjects.push({
        ...line.subject,
        identity: { person_uuid: [], person_id: [], distinct_id: [], recording_id: [] },
      });
    else if ('identity' in line)
      for (const kind of identifierKinds)
        for (const text of line.identity[kind]) subjects.at(-1)?.identity[kind].push(text);
    else
      isWhole =
        line.subjects === subjects.length &&
        line.identifiers === subjects.reduce((sum, subject) => sum + countIn(subject.identity), 0);
  }
  if (!task || !isWhole) throw new TypeError('not a whole task');
  return { ...task, subjects };
}

/** What a scan found, without personal data. A place is a path in the data folder or a whole path elsewhere, and `:column` if decoded. */
export type ScanReport = {
  /** Files whose bytes were read, and their bytes. */
  files: number;
  bytes: number;
  /** Rows that were decoded, of the mirror and of Parquet files. SQL has looked at the others, where it can. */
  rows: number;
  encodings: Encoding[];
  subjects: {
    request: string;
    /** Pieces of twelve bytes searched for, and how many of them rows of other persons hold too: those prove nothing. */
    needles: number;
    shared: number;
    /** Texts that cannot be searched for: shorter than a piece, or only a time. */
    tooShort: number;
    hits: number;
    /** The first thousand. */
    places: { place: string; how: 'decoded' | 'raw'; encoding: Encoding | null; hits: number }[];
  }[];
  /** Identifiers that the fence should have kept out: the first thousand places. */
  fenced: { place: string; kind: IdentifierKind; hits: number }[];
  /** The requests of whose subjects something stands in the data folder. */
  foundHere: string[];
  /** What could not be read, in whole or in part. The scan proves nothing there. */
  unreadable: { place: string; reason: string }[];
  seconds: number;
};

type Place = ScanReport['subjects'][number]['places'][number];

/** What a scan has found so far, without any personal data. Subjects are numbers: their places in the task. */
export type Findings = {
  addDecoded(subject: number, place: string): void;
  addRaw(subject: number, place: string, encoding: Encoding, hits: number): void;
  addFenced(place: string, kind: IdentifierKind, requests: readonly string[]): void;
  addUnreadable(place: string, reason: string): void;
  /** Whether a subject was found in raw bytes, or decoded in a file other than the mirror. */
  isInFiles(subject: number): boolean;
  /** All that was found, its places as they are shown. Subjects are in the order of their numbers. */
  found(
    shown: (place: string) => string,
  ): Pick<ScanReport, 'fenced' | 'foundHere' | 'unreadable'> & {
    subjects: Pick<ScanReport['subjects'][number], 'hits' | 'places'>[];
  };
};

/**
 * A person can stand in as many places as there are files, and a scan can be for thousands. A report names no more than these
 * of one subject, and in all: so it stays far below what the program reads of it (256 MB).
 */
const [placesMax, placesInAllMax] = [1000, 100_000];

/** Prepares an empty record for the subjects of requests. */
export function createFindings(requests: readonly string[]): Findings {
  const hits = requests.map(() => 0);
  const places = hits.map(() => new Map<string, Place>());
  const fenced = new Map<string, ScanReport['fenced'][number]>();
  const foundHere = new Set<string>();
  const unreadable = new Map<string, ScanReport['unreadable'][number]>();
  const inFiles = new Set<number>();
  let placesLeft = placesInAllMax;
  /** What lies elsewhere was never said to be erased. */
  const addHere = (place: string, some: readonly string[]): void => {
    if (!isAbsolute(place)) for (const request of some) foundHere.add(request);
  };
  const add = (subject: number, found: Omit<Place, 'hits'>, count: number): void => {
    hits[subject] = (hits[subject] ?? 0) + count;
    addHere(found.place, requests.slice(subject, subject + 1));
    if (found.how === 'raw' || !found.place.startsWith(`${mirrorPlace}:`)) inFiles.add(subject);
    if (countUp(places[subject], `${found.how} ${found.encoding} ${found.place}`, found, count, placesLeft))
      placesLeft -= 1;
  };
  return {
    addDecoded: (subject, place) => add(subject, { place, how: 'decoded', encoding: null }, 1),
    addRaw: (subject, place, encoding, count) => add(subject, { place, how: 'raw', encoding }, count),
    addFenced: (place, kind, fencedBy) => {
      countUp(fenced, `${kind} ${place}`, { place, kind }, 1);
      addHere(place, fencedBy);
    },
    addUnreadable: (place, reason) => {
      if (unreadable.size < placesInAllMax) unreadable.set(`${reason} ${place}`, { place, reason });
    },
    isInFiles: (subject) => inFiles.has(subject),
    found: (shown) => {
      const inPlaces = <T extends { place: string }>(found: Iterable<T>): T[] =>
        Array.from(found, (one) => ({ ...one, place: shown(one.place) }));
      return {
        subjects: hits.map((count, subject) => ({ hits: count, places: inPlaces(places[subject]?.values() ?? []) })),
        fenced: inPlaces(fenced.values()),
        foundHere: [...foundHere],
        unreadable: inPlaces(unreadable.values()),
      };
    },
  };
}

/** Counts a hit at a place. Returns whether the place is new among those that are named. */
function countUp<T extends object>(
  counts: Map<string, T & { hits: number }> | undefined,
  key: string,
  found: T,
  count: number,
  left = placesMax,
): boolean {
  const known = counts?.get(key);
  if (known) known.hits += count;
  if (known || !counts || counts.size >= placesMax || left === 0) return false;
  counts.set(key, { ...found, hits: count });
  return true;
}
