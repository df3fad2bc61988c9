import { readJsonText, textLeaves } from '../../core/exact-json.ts';
import { createShingleSearch, shingleBytes, type ShingleSearch } from './shingle-search.ts';
import type { ScanSubject, Encoding } from './scan-task.ts';

/** One scan searches for at most so many shingles: their tables take about 150 MB. Beyond, evenly spread ones are kept. */
const shinglesMax = 1 << 20;

/** The owner of a shingle: a subject, by its place in the task, and the form of the text that holds the shingle. */
type Owner = { subject: number; encoding: Encoding };

/** When another text holds so many bytes of a shingle's beginning or end, the rest may stand next to it by chance. */
const edgeBytes = shingleBytes - 3;

/** The shingles that are searched for, and their owners. Shingles have the numbers that the search gives them. */
export type Needles = {
  search: ShingleSearch;
  /**
   * The beginnings and the ends of shingles. When another person's text ends with the beginning of a shingle, the bytes
   * that a file stores after that text, such as a length, sometimes complete the shingle by chance.
   */
  edges: ShingleSearch;
  edgesOf: (shingle: number) => readonly [beginning: number, end: number];
  ownersOf: (shingle: number) => Iterable<Owner>;
  /** Whether a shingle is of a person uuid or a recording id, which the feeds of deletions hold until their rows expire. */
  isFeedKey: (shingle: number) => boolean;
  /** For each subject, how many of its texts cannot be searched for: they are too short, or only a time. */
  tooShort: readonly number[];
};

type Needle = EncodedForm & Pick<Owner, 'subject'> & { isFeedKey: boolean };

// Times stand everywhere and identify nobody: a text is searched for without its times.
const isoTime = /\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?/g;

/** Cuts identifiers and values of subjects (values may be JSON; field names are left out) into shingles. */
export function makeNeedles(subjects: readonly ScanSubject[], shinglesLimit = shinglesMax): Needles {
  let total = 0;
  let forms = 0;
  for (const { bytes } of everyNeedle(subjects)) {
    total += shinglesIn(bytes);
    forms += 1;
  }
  // Each form keeps at least one shingle, and counts are rounded up: so one more for each form may be needed.
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
    tooShort: subjects.map((subject) => textsOf(subject).filter(({ text }) => !longPieces(text).length).length),
  };
}

/** Makes the forms again for each use: all of them at once could need many times the memory of the values. */
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

/** The pieces of a text between its times, as far as they are long enough to be searched for. */
function longPieces(text: string): string[] {
  return text.split(isoTime).filter((piece) => Buffer.byteLength(piece) >= shingleBytes);
}

function shinglesIn(bytes: Buffer): number {
  return Math.max(bytes.length - shingleBytes + 1, 0);
}

/** Offsets below a count, a step apart, at least one. A single offset is the middle one, since texts often begin or end alike. */
function* spread(count: number, step: number): Generator<number> {
  if (count === 0) return;
  if (step >= count) yield Math.floor((count - 1) / 2);
  else for (let offset = Math.floor(((count - 1) % step) / 2); offset < count; offset += step) yield offset;
}

/** The owners of shingles, in one array. All owners of a subject are added before those of the next subject. */
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
      // The same bytes can stand in two forms or two texts of a subject: they are searched for once.
      if (before !== undefined && owners[before]?.subject === subject) return;
      latest[shingle] = owners.push({ subject, encoding, before }) - 1;
    },
  };
}

/** One form of a text, as bytes. */
type EncodedForm = { encoding: Encoding; bytes: Buffer };

/**
 * The forms in which a text may stand in a file, each once, UTF-8 first. JSON: with and without non-ASCII characters and
 * slashes escaped. Percent: as a component, as an address, as a form. Base64: the characters that depend on the text only, for
 * each of the three offsets in a group of three bytes, in both alphabets. Hex: in both cases.
 */
function encodedForms(text: string): EncodedForm[] {
  const forms = new Map<string, Encoding>();
  for (const [encoding, spellings] of Object.entries(spellingsOf(text)))
    for (const spelling of spellings) if (!forms.has(spelling)) forms.set(spelling, encoding as Encoding);
  return [...forms].map(([spelling, encoding]) => ({ encoding, bytes: Buffer.from(spelling) }));
}

/** Text in UTF-16 is read as such before it is searched: it has no form of its own. */
function spellingsOf(text: string): Record<Exclude<Encoding, 'utf-16'>, string[]> {
  const bytes = Buffer.from(text);
  const hex = bytes.toString('hex');
  return {
    'utf-8': [text],
    json: jsonSpellings(text),
    percent: percentSpellings(text.toWellFormed()),
    base64: [0, 1, 2].flatMap((offset) => base64Spellings(bytes, offset)),
    hex: [hex, hex.toUpperCase()],
  };
}

function jsonSpellings(text: string): string[] {
  const short = JSON.stringify(text).slice(1, -1);
  const ascii = short.replaceAll(/[^\u0020-\u007e]/g, unicodeEscape);
  const upper = short.replaceAll(
    /[^\u0020-\u007e]/g,
    (character) => `\\u${unicodeEscape(character).slice(2).toUpperCase()}`,
  );
  return [short, ascii, upper].flatMap((spelling) => [spelling, spelling.replaceAll('/', '\\/')]);
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function percentSpellings(text: string): string[] {
  const component = encodeURIComponent(text);
  const lower = component.replaceAll(/%../g, (escape) => escape.toLowerCase());
  return [component, lower, encodeURI(text), component.replaceAll('%20', '+')];
}

function base64Spellings(bytes: Buffer, offset: number): string[] {
  const whole = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  const own = whole.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
  return [own, own.replaceAll('+', '-').replaceAll('/', '_')];
}
