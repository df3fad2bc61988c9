import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isRawNumber, parseExactJson, stringifyExactJson } from '../../src/core/exact-json.ts';

/** A JSON value before it is parsed: its numbers are still the digits of the text. */
type Node =
  | { kind: 'number'; digits: string }
  | { kind: 'plain'; value: string | boolean | null }
  | { kind: 'list'; items: Node[] }
  | { kind: 'map'; entries: [string, Node][] };

/** Any 16-bit units, lone surrogates included. */
const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xff_ff }), fc.integer({ min: 0xd8_00, max: 0xdf_ff })), { maxLength: 6 })
  .map((units) => String.fromCharCode(...units));
const digits = fc.oneof(
  fc.stringMatching(/^-?(0|[1-9]\d{0,24})(\.\d{1,24})?([eE][+-]?\d{1,3})?$/),
  fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }).map(String),
  fc.constantFrom('-0', '1.50', '9007199254740993', '1e400', '-1E+2', '0e99', '5e-324', '4.9e-324'),
);
const name = fc.oneof(
  anyText,
  fc.constantFrom('__proto__', 'constructor', 'toString', 'rawJSON', '12345678901234567890'),
);
const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    fc.record({ kind: fc.constant('number' as const), digits }),
    fc.record({
      kind: fc.constant('plain' as const),
      value: fc.oneof(anyText, fc.boolean(), fc.constant(null), fc.constant('[1e400, 12345678901234567890]')),
    }),
    fc.record({ kind: fc.constant('list' as const), items: fc.array(tie('node'), { maxLength: 4 }) }),
    fc.record({
      kind: fc.constant('map' as const),
      entries: fc.uniqueArray(fc.tuple(name, tie('node')), { maxLength: 4, selector: ([key]) => key }),
    }),
  ),
}));
const space = fc.constantFrom('', ' ', '\n\t');

function textOf(value: Node, gap: string): string {
  switch (value.kind) {
    case 'number':
      return value.digits;
    case 'plain':
      return JSON.stringify(value.value);
    case 'list':
      return `[${gap}${value.items.map((item) => textOf(item, gap)).join(`${gap},${gap}`)}]`;
    case 'map':
      return `{${value.entries.map(([key, child]) => `${gap}${JSON.stringify(key)}${gap}:${gap}${textOf(child, gap)}`).join(',')}}`;
  }
}

function isSame(expected: Node, found: unknown): boolean {
  switch (expected.kind) {
    case 'number':
      return (
        (typeof found === 'number' && isSameDecimal(expected.digits, String(found))) ||
        (isRawNumber(found) && found.rawJSON === expected.digits)
      );
    case 'plain':
      return found === expected.value;
    case 'list':
      return (
        Array.isArray(found) &&
        found.length === expected.items.length &&
        expected.items.every((item, index) => isSame(item, found[index]))
      );
    case 'map':
      return (
        typeof found === 'object' &&
        found !== null &&
        Object.keys(found).length === expected.entries.length &&
        expected.entries.every(
          ([key, child]) =>
            Object.hasOwn(found, key) && isSame(child, Object.getOwnPropertyDescriptor(found, key)?.value),
        )
      );
  }
}

/** Compares two decimals as fractions of whole numbers. */
function isSameDecimal(a: string, b: string): boolean {
  const [left, right] = [fractionOf(a), fractionOf(b)];
  return left.numerator * right.denominator === right.numerator * left.denominator;
}

function fractionOf(decimal: string): { numerator: bigint; denominator: bigint } {
  const [mantissa = '', exponent = '0'] = decimal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const power = BigInt(exponent) - BigInt(fraction.length);
  const numerator = BigInt(whole + fraction);
  return power < 0n
    ? { numerator, denominator: 10n ** -power }
    : { numerator: numerator * 10n ** power, denominator: 1n };
}

test('whatever the text holds, no digit, string or key is lost on the way through', () => {
  fc.assert(
    fc.property(node, space, (value, gap) => {
      const text = textOf(value, gap);
      const parsed = parseExactJson(text);
      expect(isSame(value, parsed)).toBe(true);
      expect(isSame(value, parseExactJson(stringifyExactJson(parsed)))).toBe(true);
    }),
    { numRuns: 1000 },
  );
});

test('where doubles suffice it is JSON.parse', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(isDeepStrictEqual(parseExactJson(text), JSON.parse(text))).toBe(true);
    }),
    { numRuns: 1000 },
  );
});

test('it refuses what JSON.parse refuses, as a SyntaxError', () => {
  const broken = fc
    .tuple(node, space, fc.nat(), fc.constantFrom('', ',', '"', '1', 'e', '-', '}', '.5'))
    .map(([value, gap, at, inserted]) => {
      const text = textOf(value, gap);
      const cut = at % (text.length + 1);
      return text.slice(0, cut) + inserted + text.slice(cut + 1);
    });
  fc.assert(
    fc.property(broken, (text) => {
      expect(errorOf(() => parseExactJson(text))).toBe(errorOf(() => JSON.parse(text)));
    }),
    { numRuns: 1000 },
  );
});

function errorOf(call: () => unknown): string | null {
  try {
    call();
    return null;
  } catch (error) {
    return error instanceof Error ? error.name : 'not an error';
  }
}
