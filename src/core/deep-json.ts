import { AppError } from './errors.ts';
import { isJsonObject, parseExactJson, parseJson } from './exact-json.ts';
import { countText } from './words.ts';

const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** A number of more characters than this is not kept. */
const digitsMax = 1000;

/** The error for a value that is not kept. */
class Unkept extends AppError {
  readonly why: string;

  constructor(why: string, hint: string) {
    super(`a value is ${why}`, { code: 'service', hint });
    this.why = why;
  }
}

/** A placeholder for a value that is not kept. Writing it as JSON throws `service`. */
type Placeholder = { words: string; toJSON: () => never };

function placeholder(words: string, why: string, hint: string): Placeholder {
  return Object.freeze({
    words,
    toJSON: () => {
      throw new Unkept(why, hint);
    },
  });
}

const tooDeep = placeholder(
  'nested too deeply',
  'nested deeper than service.jsonDepthMax',
  'raise service.jsonDepthMax if the data really are nested so deep',
);
const tooLong = placeholder(
  'a number of too many digits',
  `a number of more than ${countText(digitsMax)} digits`,
  'send it as text',
);
const placeholders = [tooDeep, tooLong];

/** Why a value could not be written as JSON, if the error means that `parseDeepJson` has not kept it; else undefined. */
export function whyUnkept(error: unknown): string | undefined {
  return error instanceof Unkept ? error.why : undefined;
}

/**
 * Parses JSON as `parseExactJson` does, down to `depthMax` levels of arrays and objects. Deeper values need no stack.
 * Placeholders that cannot be written as JSON stand for them, and for numbers of too many digits, so that one bad row does
 * not spoil the other rows of a list. Throws `SyntaxError` as `JSON.parse` does, and `oversize`, before anything is made of
 * the text, for one of more than `valuesMax` values: a value takes many times the memory of its text.
 */
export function parseDeepJson(text: string, depthMax: number, valuesMax = Number.POSITIVE_INFINITY): unknown {
  const { cuts, isPlain } = findUnkept(text, depthMax, valuesMax);
  if (cuts.length === 0) return isPlain ? parseJson(text) : parseExactJson(text);
  const mark = crypto.randomUUID();
  let [kept, at] = ['', 0];
  for (const { from, to, by } of cuts) {
    kept += `${text.slice(at, from)}${JSON.stringify(by.words + mark)}`;
    at = to;
  }
  const marked = new Map<unknown, unknown>(placeholders.map((by) => [by.words + mark, by]));
  return replaceIn(parseExactJson(kept + text.slice(at)), marked);
}

/** The JSON text of a parsed value, with words for each value that is not kept. */
export function shallowJson(value: unknown): string {
  return JSON.stringify(replaceIn(value, new Map(placeholders.map((by) => [by, by.words]))));
}

/** A copy of a value in which some parts are replaced. It recurses as deep as the value, which is not deep. */
function replaceIn(value: unknown, replaced: ReadonlyMap<unknown, unknown>): unknown {
  if (replaced.has(value)) return replaced.get(value);
  if (Array.isArray(value)) return value.map((item) => replaceIn(item, replaced));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, replaceIn(child, replaced)]));
}

type Cut = { from: number; to: number; by: Placeholder };

/**
 * The parts of a JSON text that are not kept, in their order: whole values from their first to their last character. And
 * whether it is plain: a double holds each of its numbers, all of fewer than sixteen characters and without an exponent.
 */
function findUnkept(text: string, depthMax: number, valuesMax: number): { cuts: Cut[]; isPlain: boolean } {
  const found: Cut[] = [];
  let isPlain = true;
  let depth = 0;
  let values = 0;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at + 1);
    else if (code === openBrace || code === openBracket) {
      depth += 1;
      if (depth <= depthMax) values += 1;
      else if (depth === depthMax + 1) from = at;
    } else if (code === closeBrace || code === closeBracket) {
      if (depth === depthMax + 1) found.push({ from, to: at + 1, by: tooDeep });
      depth -= 1;
    } else if (depth > depthMax) continue;
    else if (code === comma) values += 1;
    else if (isDigit(code) || code === minus) {
      const to = endOfNumber(text, at + 1);
      if (to - at >= 16 || /[eE]/.test(text.slice(at, to))) isPlain = false;
      if (to - at > digitsMax) found.push({ from: at, to, by: tooLong });
      at = to - 1;
    }
  }
  if (values > valuesMax)
    throw new AppError(`the service's answer has more than ${countText(valuesMax)} values`, {
      code: 'oversize',
      hint: 'ask for smaller pages (persons.pageSize, recordings.pageSize) or raise service.bodyBytesMax',
    });
  // A bracket that is never closed: neither the text nor the rest of it is JSON.
  return { cuts: depth > depthMax ? [...found, { from, to: text.length, by: tooDeep }] : found, isPlain };
}

/** Where the string that begins at `from` has its closing quote. */
function endOfString(text: string, from: number): number {
  let at = from;
  for (; at < text.length && text.charCodeAt(at) !== quote; at += 1) if (text.charCodeAt(at) === backslash) at += 1;
  return at;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Where the number that goes on at `from` ends. */
function endOfNumber(text: string, from: number): number {
  let at = from;
  while (at < text.length && (isDigit(text.charCodeAt(at)) || '+-.eE'.includes(text.charAt(at)))) at += 1;
  return at;
}

const colon = 0x3a;

/** How much an answer may hold: levels of arrays and objects, and values. */
export type JsonBounds = { jsonDepthMax: number; jsonValuesMax: number };

/** An object in the bytes of a JSON text: where it ends, and what reads it. `values`: how many it has. */
export type ObjectSpan = {
  to: number;
  values: number;
  /** Whether `JSON.parse` reads it exactly: it is not too deep, and has no number that a double may not hold. */
  isPlain: boolean;
};

/** Levels of a page around each of its rows: the page and its list. */
const levelsAroundRows = 2;

/** What takes a row of a list: it returns where the row ends. Undefined where the list is to be read whole. */
type TakeRow = (bytes: Buffer, from: number) => number | undefined;

/**
 * Cuts the list `results` out of the bytes of a JSON object, and gives `takeRow` the place of each of its rows. Returns the
 * rest of the object, in which `results` is empty. Undefined for bytes that are in any way other than a list of objects in an
 * object. If each row's bytes are JSON for themselves, the bytes are JSON, and the rows are what `JSON.parse` reads.
 */
export function splitResults(bytes: Buffer, bounds: JsonBounds, takeRow: TakeRow): object | undefined {
  const at = bytes.indexOf('"results"');
  if (at < 0) return undefined;
  const colonAt = skipSpace(bytes, at + '"results"'.length);
  const listAt = skipSpace(bytes, colonAt + 1);
  if (bytes[colonAt] !== colon || bytes[listAt] !== openBracket) return undefined;
  let next = skipSpace(bytes, listAt + 1);
  if (bytes[next] !== closeBracket)
    for (;;) {
      if (bytes[next] !== openBrace) return undefined;
      const end = takeRow(bytes, next);
      if (end === undefined) return undefined;
      next = skipSpace(bytes, end);
      if (bytes[next] === closeBracket) break;
      if (bytes[next] !== comma) return undefined;
      next = skipSpace(bytes, next + 1);
    }
  // No other list may be the one that counts: an object can have two fields of one name, and a field can lie deeper.
  const mark = crypto.randomUUID();
  const rest = `${bytes.toString('utf8', 0, at)}"results":["${mark}"]${bytes.toString('utf8', next + 1)}`;
  const envelope = parseDeepJson(rest, bounds.jsonDepthMax, bounds.jsonValuesMax);
  if (!isJsonObject(envelope)) return undefined;
  const { results } = envelope;
  if (!Array.isArray(results) || results.length !== 1 || results[0] !== mark) return undefined;
  return { ...envelope, results: [] };
}

/** Reads a row of `splitResults`. Throws as `parseDeepJson` does. */
export function parseRow(bytes: Buffer, from: number, to: number, isPlain: boolean, jsonDepthMax: number): unknown {
  const text = bytes.toString('utf8', from, to);
  return isPlain ? parseJson(text) : parseDeepJson(text, jsonDepthMax - levelsAroundRows);
}

/**
 * Finds where the object that begins at `from` ends, and writes that into `span`, since a page has thousands. Returns whether
 * it ends: the bytes need not be JSON.
 */
export function findObjectEnd(bytes: Buffer, from: number, { jsonDepthMax }: JsonBounds, span: ObjectSpan): boolean {
  let depth = levelsAroundRows;
  span.values = 0;
  span.isPlain = true;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === quote) {
      for (at += 1; at < bytes.length && bytes[at] !== quote; at += 1) if (bytes[at] === backslash) at += 1;
    } else if (byte === comma) span.values += 1;
    else if (byte === openBrace || byte === openBracket) {
      depth += 1;
      span.values += 1;
      if (depth > jsonDepthMax) span.isPlain = false;
    } else if (byte === closeBrace || byte === closeBracket) {
      depth -= 1;
      if (depth > levelsAroundRows) continue;
      span.to = at + 1;
      return true;
    } else if (isDigit(byte) || byte === minus) {
      const begin = at;
      while (isOfNumber(bytes[at + 1] ?? 0)) at += 1;
      // As many characters as a double surely holds, and no exponent.
      if (at - begin >= 15 || hasExponent(bytes, begin, at)) span.isPlain = false;
    }
  }
  return false;
}

/** Digits, and the signs, point and letters that a number may have. */
function isOfNumber(byte: number): boolean {
  return isDigit(byte) || byte === 0x2b || byte === minus || byte === 0x2e || byte === 0x65 || byte === 0x45;
}

function hasExponent(bytes: Buffer, from: number, last: number): boolean {
  for (let at = from; at <= last; at += 1) if (bytes[at] === 0x65 || bytes[at] === 0x45) return true;
  return false;
}

/** The next place whose byte is no white space of JSON. */
function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  for (let byte = bytes[at]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = bytes[at])
    at += 1;
  return at;
}
