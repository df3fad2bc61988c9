import { expect, test } from 'vitest';
import { isRawNumber, parseExactJson, readJson, stringifyExactJson } from '../../src/core/exact-json.ts';

test.for([
  '9007199254740993',
  '-9223372036854775808',
  '18446744073709551616',
  '0.1234567890123456789',
  '1e400',
  '1e-400',
])('%s is kept as its digits', (digits) => {
  expect(parseExactJson(digits)).toEqual({ rawJSON: digits });
  expect(stringifyExactJson(parseExactJson(`[${digits}]`))).toBe(`[${digits}]`);
});

test.for([
  ['9007199254740992', 9_007_199_254_740_992],
  ['1.50', 1.5],
  ['1E2', 100],
  ['100000000000000000000', 1e20],
  ['0.0000000000000000', 0],
  ['-0', -0],
] as const)('%s is a plain number', ([text, number]) => {
  expect(parseExactJson(text)).toBe(number);
});

test('digits inside strings stay strings', () => {
  const text = '{"a":"x: 12345678901234567890","b":", 1e999"}';
  expect(parseExactJson(text)).toEqual({ a: 'x: 12345678901234567890', b: ', 1e999' });
});

test('a key named __proto__ is a key, and changes no prototype', () => {
  const parsed = parseExactJson('{"__proto__":{"polluted":true},"n":12345678901234567890}');
  expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
  expect(stringifyExactJson(parsed)).toBe('{"__proto__":{"polluted":true},"n":12345678901234567890}');
});

test('a bigint is written as a number, indented where asked', () => {
  expect(stringifyExactJson({ rows: 2n ** 63n })).toBe('{"rows":9223372036854775808}');
  expect(stringifyExactJson([1n], 2)).toBe('[\n  1\n]');
});

test('only a number kept as digits is a raw number', () => {
  expect(isRawNumber(parseExactJson('1e999'))).toBe(true);
  expect(isRawNumber({ rawJSON: '1' })).toBe(false);
  expect(isRawNumber(1)).toBe(false);
});

test('a number of a million digits costs no more than to look at each of them', () => {
  const digits = `1.${'0'.repeat(1_000_000)}1`;
  expect(parseExactJson(digits)).toEqual({ rawJSON: digits });
  expect(parseExactJson(`1.${'0'.repeat(1_000_000)}`)).toBe(1);
});

test('reads a text that may be no JSON without an error that could quote it', () => {
  expect(readJson('{"a":[1,null]}')).toEqual({ a: [1, null] });
  expect(readJson('null')).toBeNull();
  for (const text of ['', '{', 'ann@example.com', '{"a":1}x']) expect(readJson(text)).toBeUndefined();
  expect(isRawNumber(readJson('9007199254740993', parseExactJson))).toBe(true);
});
