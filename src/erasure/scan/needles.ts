import { cleanText } from '../../core/clean-json.ts';
import { readJsonText, textLeaves } from '../../core/exact-json.ts';
import { createShingleSearch, shingleBytes, type ShingleSearch } from './shingle-search.ts';
import { encodings, type ScanSubject, type Encoding } from './scan-task.ts';

/** One scan searches for about so many shingles: their tables take some 120 MB. Beyond, evenly spread ones are kept. */
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
  /** Whether a shingle stands in a person uuid or a recording id, which the feeds of deletions hold until their rows expire. */
  isFeedKey: (shingle: number) => boolean;
  /** For each subject, how many of its texts cannot be searched for: they are too short, or only a time. */
  tooShort: readonly number[];
};

/** A form of a text of a subject, as bytes. The text as it is has the form `utf-8`. */
type Needle = Owner & { bytes: Buffer };

// Times stand everywhere and identify nobody: a text is searched for without its times.
const isoTime = /\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?/g;

/** Cuts identifiers and values of subjects (values may be JSON; field names are left out) into shingles. */
export function makeNeedles(subjects: readonly ScanSubject[], shinglesLimit = shinglesMax): Needles {
  const { capacity, step, isKept } = planShingles(subjects, shinglesLimit);
  const search = createShingleSearch(capacity);
  const edges = createShingleSearch(2 * capacity, edgeBytes);
  const beginnings = new Int32Array(capacity);
  const ends = new Int32Array(capacity);
  const owners = createOwners(capacity);
  for (const needle of everyNeedle(subjects)) {
    if (!isKept(needle)) continue;
    const { bytes, subject, encoding } = needle;
    for (const offset of spread(shinglesIn(bytes), step)) {
      const shingle = search.add(bytes, offset);
      const beginning = edges.add(bytes, offset);
      const end = edges.add(bytes, offset + shingleBytes - edgeBytes);
      if (shingle === undefined || beginning === undefined || end === undefined)
        throw new Error('more shingles than were counted');
      beginnings[shingle] = beginning;
      ends[shingle] = end;
      owners.add(shingle, subject, encoding);
    }
  }
  const isFeedKey = new Uint8Array(capacity);
  // By what stands in the keys: other texts of a subject can quote a key, and not all shingles of the key may be kept.
  for (const { identity } of subjects)
    for (const keys of [identity.person_uuid, identity.recording_id])
      for (const key of keys) search.openStream((shingle) => void (isFeedKey[shingle] = 1))(Buffer.from(key));
  return {
    search,
    edges,
    edgesOf: (shingle) => [beginnings[shingle] ?? 0, ends[shingle] ?? 0],
    ownersOf: owners.of,
    isFeedKey: (shingle) => isFeedKey[shingle] === 1,
    tooShort: subjects.map((subject) => {
      let count = 0;
      for (const text of textsOf(subject)) if (longPieces(text).length === 0) count += 1;
      return count;
    }),
  };
}

/** How far apart the shingles are that are kept, which forms are kept, and how many shingles there are at most. */
type ShinglePlan = { capacity: number; step: number; isKept: (needle: Needle) => boolean };

/**
 * Decides which shingles are searched for. Up to the limit, all are. Then each form keeps evenly spread ones, at least one.
 * Where even those are too many, each text keeps one as it is, and each subject an equal number of other forms.
 */
function planShingles(subjects: readonly ScanSubject[], limit: number): ShinglePlan {
  const encoded = subjects.map(() => 0);
  let plain = 0;
  let total = 0;
  for (const { bytes, subject, encoding } of everyNeedle(subjects)) {
    total += shinglesIn(bytes);
    if (encoding === 'utf-8') plain += 1;
    else encoded[subject] = (encoded[subject] ?? 0) + 1;
  }
  const forms = encoded.reduce((sum, count) => sum + count, plain);
  // Counts are rounded up: so one more for each form may be needed.
  if (2 * forms <= limit || total <= limit) {
    const capacity = Math.min(total, limit);
    return { capacity, step: total <= capacity ? 1 : Math.ceil(total / (capacity - forms)), isKept: () => true };
  }
  const room = Math.max(limit - plain, limit / 4);
  let each = Math.max(...encoded);
  const kept = (): number => encoded.reduce((sum, count) => sum + Math.min(count, each), 0);
  while (kept() > room && each > 0) each = Math.floor(each / 2);
  const seen = encoded.map(() => 0);
  const isKept = ({ encoding, subject }: Needle): boolean => {
    if (encoding === 'utf-8') return true;
    const of = encoded[subject] ?? 0;
    const nth = seen[subject] ?? 0;
    seen[subject] = nth + 1;
    return of <= each || Math.floor(((nth + 1) * each) / of) > Math.floor((nth * each) / of);
  };
  return { capacity: plain + kept(), step: Infinity, isKept };
}

/** Makes the forms again for each use: all of them at once could need many times the memory of the values. */
function* everyNeedle(subjects: readonly ScanSubject[]): Generator<Needle> {
  for (const [subject, texts] of subjects.entries())
    for (const text of textsOf(texts))
      for (const piece of longPieces(text)) for (const form of encodedForms(piece)) yield { ...form, subject };
}

/** Every text of a subject: identifiers, of which there can be a million, and then other texts, each once. */
function* textsOf({ identity, values }: ScanSubject): Generator<string> {
  yield* identity.person_uuid;
  yield* identity.recording_id;
  yield* identity.distinct_id;
  const leaves = values.flatMap((value) => [...textLeaves(readJsonText(value) ?? value)]);
  // Published files have some texts in another spelling.
  const others = new Set([...leaves, ...leaves.map(cleanText)]);
  for (const keys of [identity.person_uuid, identity.recording_id, identity.distinct_id])
    for (const key of keys) others.delete(key);
  yield* others;
}

/** The pieces of a text between its times, as far as they are long enough to be searched for. */
export function longPieces(text: string): string[] {
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

/** The owners of shingles, in lists of numbers. All owners of a subject are added before those of the next subject. */
function createOwners(capacity: number) {
  // The newest owner of a shingle, and the owner before each; 0 is none.
  const latest = new Int32Array(capacity);
  let before = new Int32Array(capacity + 1);
  let owners = new Int32Array(capacity + 1);
  let size = 1;
  const subjectAt = (at: number): number => Math.floor((owners[at] ?? 0) / encodings.length);
  function* of(shingle: number): Generator<Owner> {
    for (let at = latest[shingle] ?? 0; at !== 0; at = before[at] ?? 0)
      yield { subject: subjectAt(at), encoding: encodings[(owners[at] ?? 0) % encodings.length] ?? 'utf-8' };
  }
  return {
    of,
    add: (shingle: number, subject: number, encoding: Encoding): void => {
      const known = latest[shingle] ?? 0;
      // The same bytes can stand in two forms or two texts of a subject: they are searched for once.
      if (known !== 0 && subjectAt(known) === subject) return;
      if (size === owners.length) [before, owners] = [longer(before), longer(owners)];
      owners[size] = subject * encodings.length + encodings.indexOf(encoding);
      before[size] = known;
      latest[shingle] = size;
      size += 1;
    },
  };
}

function longer(numbers: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const twice = new Int32Array(2 * numbers.length);
  twice.set(numbers);
  return twice;
}

/**
 * The forms in which a text may stand in a file, each once, UTF-8 first. JSON: with and without non-ASCII characters and
 * slashes escaped. Percent: as a component, as an address, as a form. Base64: the characters that depend on the text only, for
 * each of the three offsets in a group of three bytes, in both alphabets. Hex: in both cases.
 */
function encodedForms(text: string): Omit<Needle, 'subject'>[] {
  const forms = new Map<string, Encoding>();
  for (const [encoding, spellings] of Object.entries(spellingsOf(text)))
    for (const spelling of spellings) if (!forms.has(spelling)) forms.set(spelling, encoding as Encoding);
  const encoded = [...forms].map(([spelling, encoding]) => ({ encoding, bytes: Buffer.from(spelling) }));
  const latin = latinBytes(text);
  return latin === undefined ? encoded : [...encoded, { encoding: 'latin-1', bytes: latin }];
}

/** The characters of Windows-1252 from 0x80 to 0x9F. All others are those of Latin-1. */
const windows1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008DŽ\u008F\u0090‘’“”•–—˜™š›œ\u009DžŸ';

/** A text in Windows-1252; undefined where that is the same as UTF-8, or has not all of its characters. */
function latinBytes(text: string): Buffer | undefined {
  if (/^[\0-\x7f]*$/.test(text)) return undefined;
  const codes = Array.from(text, (character) => {
    const above = windows1252.indexOf(character);
    return above < 0 ? (character.codePointAt(0) ?? 0) : 0x80 + above;
  });
  return codes.every((code) => code <= 0xff) ? Buffer.from(codes) : undefined;
}

/** Text in UTF-16 is read as such before it is searched: it has no form of its own. */
function spellingsOf(text: string): Record<Exclude<Encoding, 'latin-1' | 'utf-16'>, string[]> {
  const bytes = Buffer.from(text);
  const hex = bytes.toString('hex');
  // Most identifiers: neither JSON nor an address changes anything in them.
  const isSafe = /^[\w.~-]*$/.test(text);
  return {
    'utf-8': [text],
    json: isSafe ? [] : jsonSpellings(text),
    percent: isSafe ? [] : percentSpellings(text.toWellFormed()),
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
