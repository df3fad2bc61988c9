/** A JSON object's keys and values. */
export type JsonObject = { [key: string]: unknown };

/** A number that the text holds with more digits than a double can, kept as its digits. */
export type RawNumber = { readonly rawJSON: string };

// Node has these (V8's JSON.parse with source text access); TypeScript's library does not know them yet.
const json = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
};

// A number token of sixteen digits or more, or one with an exponent: only these can be changed by a double. No repetition is
// without a bound: of a text with millions of digits, the search would need too much stack.
const riskyNumber = /(?:^|[:[,])\s*-?(?:[\d.]{16}|[\d.]{1,15}[eE])/;

/**
 * `JSON.parse` that keeps each name of a field. V8 of Node 24 compares the characters of a name as they stand in the text with a
 * name that it has seen in an earlier object: it takes `\"` for a name that is one backslash. So a name with an escape
 * is read with a mark behind it, which is taken off again. Throws `SyntaxError` as `JSON.parse` does.
 */
export function parseJson(text: string, parse: (text: string) => unknown = JSON.parse): unknown {
  const ends = endsOfEscapedNames(text);
  if (ends.length === 0) return parse(text);
  // Its first character completes no escape that is cut short.
  const mark = `#${crypto.randomUUID()}`;
  const parts = ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end));
  return withoutMark(parse([...parts, text.slice(ends.at(-1))].join(mark)), mark);
}

/**
 * Where the names with an escape have their closing quotes. In JSON, a backslash stands in a string only, and behind a value is
 * no colon. Looks at each character at most twice, whatever the text is.
 */
function endsOfEscapedNames(text: string): number[] {
  const ends: number[] = [];
  for (let at = text.indexOf('\\'); at >= 0; at = text.indexOf('\\', at)) {
    for (let code = text.charCodeAt(at); at < text.length && code !== 0x22; code = text.charCodeAt(at))
      at += code === 0x5c ? 2 : 1;
    const end = at;
    do at += 1;
    while (isSpace(text.charCodeAt(at)));
    if (text[at] === ':') ends.push(end);
  }
  return ends;
}

/** Whether a character is white space of JSON. */
function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Takes the mark off the names of all fields, in the value itself. Not recursive: the text decides on the depth. */
function withoutMark(value: unknown, mark: string): unknown {
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (Array.isArray(next)) for (const item of next as unknown[]) open.push(item);
    if (!isJsonObject(next)) continue;
    const fields = Object.entries(next);
    for (const [, child] of fields) open.push(child);
    if (!fields.some(([name]) => name.endsWith(mark))) continue;
    for (const [name] of fields) Reflect.deleteProperty(next, name);
    for (const [name, child] of fields)
      Object.defineProperty(next, name.endsWith(mark) ? name.slice(0, -mark.length) : name, {
        value: child,
        configurable: true,
        enumerable: true,
        writable: true,
      });
  }
  return value;
}

/**
 * `JSON.parse` that never rounds: a number which a double cannot hold comes back as a `RawNumber`, which
 * `JSON.stringify` writes digit for digit. Costs nothing where the text has no such number.
 * Throws `SyntaxError` as `JSON.parse` does.
 */
export function parseExactJson(text: string): unknown {
  if (!riskyNumber.test(text)) return parseJson(text);
  return parseJson(text, (whole) =>
    json.parse(whole, (_key, value, { source }) => {
      if (typeof value !== 'number' || source === undefined || isSameNumber(value, source)) return value;
      return json.rawJSON(source);
    }),
  );
}

/** The value of a JSON text; undefined if the text is not JSON. Never throws, so that no error can quote the text. */
export function readJson(text: string, parse: (text: string) => unknown = parseJson): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** What a text holds as JSON, if that is an object, a list or a text in quotes; undefined for every other text. */
export function readJsonText(text: string): unknown {
  return /^\s*[[{"]/.test(text) ? readJson(text) : undefined;
}

/** `JSON.stringify` that writes a bigint as the digits of a JSON number. */
export function stringifyExactJson(value: unknown, indent?: number): string {
  return JSON.stringify(
    value,
    (_key, child: unknown) => (typeof child === 'bigint' ? json.rawJSON(child.toString()) : child),
    indent,
  );
}

/** Whether a value is a number kept as digits. */
export function isRawNumber(value: unknown): value is RawNumber {
  return json.isRawJSON(value);
}

/** The digits of an integer, from a parsed JSON number or a text; undefined for any other value. */
export function integerText(value: unknown): string | undefined {
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint';
  const text = isRawNumber(value) ? value.rawJSON : isPlain ? String(value) : '';
  return /^-?\d+$/.test(text) ? text : undefined;
}

/** Whether a parsed JSON value is an object: no list, no null, and no number that was kept as its digits. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** Whether the double writes the same decimal as the source: `1.50` and `1.5` do, `9007199254740993` does not. */
function isSameNumber(value: number, source: string): boolean {
  if (String(value) === source) return true;
  return Number.isFinite(value) && decimalOf(String(value)) === decimalOf(source);
}

/** Sign, digits and power of ten: spellings of one decimal compare equal. Each digit is looked at once. */
function decimalOf(number: string): string {
  const [mantissa = '', exponent = '0'] = number.toLowerCase().split('e');
  const sign = mantissa.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = (whole + fraction).replace(/^0+/, '');
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  const significant = digits.slice(0, end);
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

/** Every text within a parsed JSON value, or the value itself if it is a text. Names of fields are left out. */
export function* textLeaves(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const item of value) yield* textLeaves(item);
  else if (typeof value === 'object' && value !== null)
    for (const child of Object.values(value)) yield* textLeaves(child);
}
