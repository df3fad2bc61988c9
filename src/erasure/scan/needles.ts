import { readJsonText, textLeaves } from '../../core/exact-json.ts';
import { encodedForms, type EncodedForm, type Encoding } from './encoded-forms.ts';
import { createShingleSearch, shingleBytes, type ShingleSearch } from './shingle-search.ts';
import type { ScanSubject } from './scan-task.ts';

/** The most shingles that one scan searches for: some 150 MB of tables. Beyond, each form of a text keeps evenly spread ones. */
const shinglesMax = 1 << 20;

/** Whose a shingle is: the subject by its place in the task, and the form of a text that has it. */
type Owner = { subject: number; encoding: Encoding };

/** How much of a shingle another text may share at its beginning or its end, and the rest stand there by chance. */
const edgeBytes = shingleBytes - 3;

/** What is searched for, and whose it is. Shingles are numbered as the search numbers them. */
export type Needles = {
  search: ShingleSearch;
  /**
   * The beginnings and the ends of shingles. Where one of them ends somebody else's text, what a file holds next to it,
   * lengths and the like, makes the whole shingle once in a while.
   */
  edges: ShingleSearch;
  edgesOf: (shingle: number) => readonly [beginning: number, end: number];
  ownersOf: (shingle: number) => Iterable<Owner>;
  /** Whether it is of a uuid or recording id: the feeds of deletions hold those, until they expire. */
  isFeedKey: (shingle: number) => boolean;
  /** For each subject, how many of its texts cannot be searched for: too short, or nothing but times. */
  tooShort: readonly number[];
};

type Needle = EncodedForm & Pick<Owner, 'subject'> & { isFeedKey: boolean };

// Times are everywhere, and nobody's: what is left of a text without them is searched for.
const isoTime = /\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?/g;

/**
 * Cuts what is known of subjects into shingles: their identifiers, and every text within their values, which may be JSON
 * (names of fields are not theirs), in every form.
 */
export function makeNeedles(subjects: readonly ScanSubject[], shinglesLimit = shinglesMax): Needles {
  let total = 0;
  let forms = 0;
  for (const { bytes } of everyNeedle(subjects)) {
    total += shinglesIn(bytes);
    forms += 1;
  }
  // Each form keeps one at least, and so as many again as forms may be needed where counts are rounded up.
  const capacity = Math.max(Math.min(total, shinglesLimit), 2 * forms);
  const step = total <= capacity ? 1 : Math.ceil(total / (capacity - forms));
  const search = createShingleSearch(capacity);
  const edges = createShingleSearch(2 * capacity, edgeBytes);
  const beginnings = new Int32Array(capacity);
  const ends = new Int32Array(capacity);
  const owners = createOwners();
  const feedKeys = new Set<number>();
  for (const { bytes, subject, encoding, isFeedKey } of everyNeedle(subjects))
    for (const offset of spread(shinglesIn(bytes), step)) {
      const shingle = search.add(bytes, offset);
      const beginning = edges.add(bytes, offset);
      const end = edges.add(bytes, offset + shingleBytes - edgeBytes);
      if (shingle === undefined || beginning === undefined || end === undefined)
        throw new Error('more shingles than were counted');
      beginnings[shingle] = beginning;
      ends[shingle] = end;
      owners.add(shingle, subject, encoding);
      if (isFeedKey) feedKeys.add(shingle);
    }
  return {
    search,
    edges,
    edgesOf: (shingle) => [beginnings[shingle] ?? 0, ends[shingle] ?? 0],
    ownersOf: owners.of,
    isFeedKey: (shingle) => feedKeys.has(shingle),
    tooShort: subjects.map(
      (subject) => textsOf(subject).filter(({ text }) => !longPieces(text).length).length,
    ),
  };
}

/** Made anew for each use: all of them at once could be many times what the values are. */
function* everyNeedle(subjects: readonly ScanSubject[]): Generator<Needle> {
  for (const [index, subject] of subjects.entries())
    for (const { text, isFeedKey } of textsOf(subject))
      for (const piece of longPieces(text))
        for (const form of encodedForms(piece)) yield { ...form, subject: index, isFeedKey };
}

/** Every text of a subject, once. */
function textsOf({ identity, values }: ScanSubject): { text: string; isFeedKey: boolean }[] {
  const feedKeys = new Set([...identity.person_uuid, ...identity.recording_id]);
  const others = new Set([
    ...identity.distinct_id,
    ...values.flatMap((value) => [...textLeaves(readJsonText(value) ?? value)]),
  ]);
  return [...new Set([...feedKeys, ...others])].map((text) => ({ text, isFeedKey: feedKeys.has(text) }));
}

/** The pieces of a text between times that are long enough to be searched for. */
function longPieces(text: string): string[] {
  return text.split(isoTime).filter((piece) => Buffer.byteLength(piece) >= shingleBytes);
}

function shinglesIn(bytes: Buffer): number {
  return Math.max(bytes.length - shingleBytes + 1, 0);
}

/** Offsets below a count, a step apart, at least one: the middle one, since texts rather begin or end alike. */
function* spread(count: number, step: number): Generator<number> {
  if (count === 0) return;
  if (step >= count) yield Math.floor((count - 1) / 2);
  else for (let offset = Math.floor(((count - 1) % step) / 2); offset < count; offset += step) yield offset;
}

/**
 * Who searches for a shingle: a list of its own for each, all in one array, as there may be a million. Subjects come one
 * after the other.
 */
function createOwners(): {
  add: (shingle: number, subject: number, encoding: Encoding) => void;
  of: (shingle: number) => Generator<Owner>;
} {
  const latest: (number | undefined)[] = [];
  const owners: (Owner & { before: number | undefined })[] = [];
  function* of(shingle: number): Generator<Owner> {
    for (let at = latest[shingle]; at !== undefined; at = owners[at]?.before) {
      const owner = owners[at];
      if (owner) yield owner;
    }
  }
  return {
    of,
    add: (shingle, subject, encoding) => {
      const before = latest[shingle];
      // Bytes that are the same in two forms, or in two texts, are searched for once for each subject.
      if (before !== undefined && owners[before]?.subject === subject) return;
      latest[shingle] = owners.push({ subject, encoding, before }) - 1;
    },
  };
}
