import { AppError } from './errors.ts';
import { isJsonObject, parseExactJson } from './exact-json.ts';

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The error for a value that is nested too deeply to be kept. */
class NestedTooDeep extends AppError {
  constructor() {
    super('a value is nested deeper than service.jsonDepthMax', {
      code: 'service',
      hint: 'raise service.jsonDepthMax if the data really are nested so deep',
    });
  }
}

/** The placeholder for a value that is nested too deeply. Writing it as JSON throws `service`. */
const tooDeep = Object.freeze({
  toJSON(): never {
    throw new NestedTooDeep();
  },
});

/** Whether an error means that a value is nested too deeply to be written. */
export function isNestedTooDeep(error: unknown): boolean {
  return error instanceof NestedTooDeep;
}

/**
 * Parses JSON as `parseExactJson` does, down to `depthMax` levels of arrays and objects. Deeper values need no stack.
 * A placeholder that cannot be written as JSON stands for them, so that one bad row does not spoil the other rows of
 * a list. Throws `SyntaxError` as `JSON.parse` does.
 */
export function parseDeepJson(text: string, depthMax: number): unknown {
  const cuts = findDeeper(text, depthMax);
  if (cuts.length === 0) return parseExactJson(text);
  const mark = `nested too deeply ${crypto.randomUUID()}`;
  let [shallow, at] = ['', 0];
  for (const { from, to } of cuts) {
    shallow += `${text.slice(at, from)}${JSON.stringify(mark)}`;
    at = to;
  }
  return withoutMarks(parseExactJson(shallow + text.slice(at)), mark);
}

/** The JSON text of a parsed value, with `nested too deeply` for each value that was. */
export function shallowJson(value: unknown): string {
  return JSON.stringify(replaceIn(value, (one) => (one === tooDeep ? 'nested too deeply' : undefined)));
}

function withoutMarks(value: unknown, mark: string): unknown {
  return replaceIn(value, (one) => (one === mark ? tooDeep : undefined));
}

/** A copy of a value in which some parts are replaced. It recurses as deep as the value, which is not deep. */
function replaceIn(value: unknown, replace: (value: unknown) => unknown): unknown {
  const replaced = replace(value);
  if (replaced !== undefined) return replaced;
  if (Array.isArray(value)) return value.map((item) => replaceIn(item, replace));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, replaceIn(child, replace)]));
}

/** Where a JSON text nests too deeply: from each bracket that opens one level too many to its closing bracket. */
function findDeeper(text: string, depthMax: number): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at + 1);
    else if (code === openBrace || code === openBracket) {
      depth += 1;
      if (depth === depthMax + 1) from = at;
    } else if (code === closeBrace || code === closeBracket) {
      if (depth === depthMax + 1) found.push({ from, to: at + 1 });
      depth -= 1;
    }
  }
  // A bracket that is never closed: neither the text nor the rest of it is JSON.
  return depth > depthMax ? [...found, { from, to: text.length }] : found;
}

/** Where the string that begins at `from` has its closing quote. */
function endOfString(text: string, from: number): number {
  let at = from;
  for (; at < text.length && text.charCodeAt(at) !== quote; at += 1) if (text.charCodeAt(at) === backslash) at += 1;
  return at;
}
