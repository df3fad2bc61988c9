import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/ledger/canonical-json.ts';

const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.string({ unit: 'grapheme' }),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(fc.string({ unit: 'grapheme' }), tie('json'), { maxKeys: 4 }),
  ),
}));

describe('canonical JSON', () => {
  it('sorts keys by their UTF-16 code units, as the example of RFC 8785 section 3.2.3', () => {
    const value = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    expect(canonicalJson(value)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis",' +
        '"€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    );
  });

  it('spells strings as RFC 8785 section 3.2.2.2', () => {
    expect(canonicalJson('\u20ac$\u000F\u000aA\'B"\\\\"/')).toBe(`"€$\\u000f\\nA'B\\"\\\\\\\\\\"/"`);
  });

  it('means the same value, and has one spelling of it', () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
    );
  });

  it('does not depend on the order in which keys were set', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.integer()), (value) => {
        const reversed = Object.fromEntries(Object.entries(value).toReversed());
        expect(canonicalJson(reversed)).toBe(canonicalJson(value));
      }),
    );
  });

  it.each([
    ['undefined', undefined],
    ['a key without a value', { a: undefined }],
    ['a hole in a list', [, 1]], // eslint-disable-line no-sparse-arrays
    ['a fraction', 0.5],
    ['a number that a double cannot hold', 2 ** 53],
    ['not a number', Number.NaN],
    ['a bigint', 1n],
    ['a date', new Date(0)],
    ['a map', new Map()],
    ['a function', () => 1],
    ['a lone surrogate', '\ud800'],
    ['a lone surrogate in a key', { '\udc00': 1 }],
  ])('refuses %s', (_what, value) => {
    expect(() => canonicalJson(value)).toThrow(TypeError);
  });
});
