import { parseDeepJson } from './deep-json.ts';
import { isJsonObject } from './exact-json.ts';

const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const colon = 0x3a;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

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
  return isPlain ? JSON.parse(text) : parseDeepJson(text, jsonDepthMax - levelsAroundRows);
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

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
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
