import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emailKey, emailOf } from '../../src/contract/email.ts';

describe('two spellings of an e-mail address', () => {
  it.each([
    ['upper and lower case', 'Ann@X.Example', 'ann@x.example'],
    ['upper and lower case beyond ASCII', '\u00d6ZIL.uni@x.test', '\u00f6zil.uni@x.test'],
    ['a letter and its accent', 'zoe\u0308@x.test', 'ZO\u00cb@x.test'],
    ['accents in another order', 'q\u0323\u0307@x.test', 'q\u0307\u0323@x.test'],
    ['capital sharp s', 'STRA\u1e9eE@x.test', 'stra\u00dfe@x.test'],
    ['sigma at the end', '\u039f\u0394\u039f\u03a3@x.test', '\u03bf\u03b4\u03bf\u03c2@x.test'],
    ['capital i with a dot', '\u0130nci@x.test', 'i\u0307nci@x.test'],
    ['Kelvin sign', '\u212aim@x.test', 'kim@x.test'],
    ['blanks at the edges', ' \u00a0ann@x.test\u2003\r\n', '\u0085ann@x.test\ufeff'],
  ])('are one: %s', (_what, one, other) => {
    expect(emailKey(one)).toBe(emailKey(other));
    // HMACs of earlier requests were made of this form.
    expect(emailKey(one)).toBe(emailKey(one).normalize('NFC'));
  });

  it.each([
    ['another letter', 'ann@x.test', 'anna@x.test'],
    ['an accent', '\u00f6zil@x.test', 'ozil@x.test'],
    ['a blank within', 'an n@x.test', 'ann@x.test'],
    ['the dotless i', '\u0131nci@x.test', 'inci@x.test'],
    ['sharp s', 'strasse@x.test', 'stra\u00dfe@x.test'],
    ['a ligature', '\ufb01nn@x.test', 'finn@x.test'],
    ['a full-width letter', '\uff41nn@x.test', 'ann@x.test'],
    ['a letter of another script', '\u0430nn@x.test', 'ann@x.test'],
    ['an invisible character', 'an\u200bn@x.test', 'ann@x.test'],
  ])('are two: %s', (_what, one, other) => {
    expect(emailKey(one)).not.toBe(emailKey(other));
  });

  it('are one in every form and case, and the key is its own key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const key = emailKey(text);
        for (const other of [key, text.normalize('NFC'), text.normalize('NFD'), ` ${text}`])
          expect(emailKey(other)).toBe(key);
        // What upper case makes more letters of stays apart.
        const upper = Array.from(text.normalize('NFD'), (character) => character.toUpperCase());
        if (!text.includes('\u0131') && upper.every((letter) => Array.from(letter).length === 1))
          expect(emailKey(text.toUpperCase())).toBe(key);
      }),
    );
  });
});

it('the address of a person is the text in the property email', () => {
  expect(emailOf({ properties: { email: ' Ann@X ' } })).toBe('ann@x');
  for (const person of [null, 'x', {}, { email: 'a@x' }, { properties: null }, { properties: ['email'] }])
    expect(emailOf(person)).toBeUndefined();
  for (const email of [null, 7, ['a@x'], {}, ' ']) expect(emailOf({ properties: { email } })).toBeUndefined();
});

it('a text of a million blanks costs no more than any other of its length', () => {
  const blanks = ' '.repeat(1_000_000);
  expect(emailKey(`${blanks}a${blanks}x${blanks}`)).toBe(`a${blanks}x`);
  expect(emailKey('Ä'.repeat(4_000_000))).toBe('ä'.repeat(4_000_000));
}, 10_000);
