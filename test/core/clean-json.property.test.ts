import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cleanJson, cleanText, mayNeedCleaning } from '../../src/core/clean-json.ts';
import { parseJson } from '../../src/core/exact-json.ts';

/** Any 16-bit units, with many lone surrogates, NUL, backslashes and the letters of escapes. */
const anyText = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0, max: 0xff_ff }).map((code) => String.fromCharCode(code)),
    fc.integer({ min: 0xd8_00, max: 0xdf_ff }).map((code) => String.fromCharCode(code)),
    fc.constantFrom('\0', '\\', 'u', '0000', 'd800', 'dc00', '\ufffd', '"', '😀'),
  ),
  maxLength: 12,
});
const anyJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    anyText,
    fc.constantFrom(null, true, 7),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .uniqueArray(fc.tuple(anyText, tie('value')), { selector: ([key]) => cleanText(key), maxLength: 4 })
      .map((entries) => Object.fromEntries(entries)),
  ),
})).value;

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(cleaned);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [cleanText(key), cleaned(child)]));
}

/** A service may escape any character, in either case. */
const escaped = (text: string, isEscaped: (at: number) => boolean): string =>
  text.replaceAll(/\\[^u]|\\u[0-9a-f]{4}|[^\x20-\x7e]/gu, (found, at: number) => {
    if (!isEscaped(at) || /^\\[^u]/.test(found)) return found;
    if (found.startsWith('\\')) return found.toUpperCase().replace('U', 'u');
    return found
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('');
  });

test('of any JSON text, the values are the same but for NUL and unpaired surrogates, which are counted', () => {
  fc.assert(
    fc.property(anyJson, fc.func(fc.boolean()), (value, isEscaped) => {
      const text = escaped(JSON.stringify(value), (at) => isEscaped(at));
      expect(parseJson(text)).toEqual(value);
      let count = 0;
      const result = cleanJson(text, (more) => (count += more));
      expect(parseJson(result)).toEqual(cleaned(value));
      expect(mayNeedCleaning(result) && cleanJson(result, () => expect.fail('cleaned twice')) !== result).toBe(false);
      const before = [...JSON.stringify(cleaned(value))].filter((one) => one === '\ufffd').length;
      const had = [...JSON.stringify(value)].filter((one) => one === '\ufffd').length;
      expect(count).toBe(before - had);
    }),
    { numRuns: 2000 },
  );
});

test('what needs nothing is returned as it is', () => {
  const count = (): never => expect.fail('nothing was replaced');
  for (const text of [
    String.raw`{"a":"\ud83d\ude00","b":"\\u0000","c":"\\\\ud800 \" \n \u0001 \uFFFD"}`,
    '{"😀":"\ufffd"}',
    String.raw`["\uDBFF\uDFFF\\","u0000"]`,
  ])
    expect(cleanJson(text, count)).toBe(text);
});

test.for([
  [String.raw`["\u0000\uD800","\udc00\ud800","\ud800\u0041","\\\u0000"]`, '["��","��","�\\u0041","\\\\�"]', 6],
  [String.raw`{"\ud83d\ud83d\ude00":"x\ud83d"}`, String.raw`{"�\ud83d\ude00":"x�"}`, 2],
] as const)('%s becomes %s', ([text, wanted, replaced]) => {
  let count = 0;
  expect(cleanJson(text, (more) => (count += more))).toBe(wanted);
  expect(count).toBe(replaced);
});
