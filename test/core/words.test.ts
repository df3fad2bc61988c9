import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  agoText,
  bytesText,
  countText,
  durationText,
  printable,
  printableJson,
  printableLines,
  secondText,
  shellWord,
} from '../../src/core/words.ts';

test.for([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [99_949, '99.9 kB'],
  [99_950, '100 kB'],
  [999_499, '999 kB'],
  [999_500, '1.0 MB'],
  [1_500_000_000, '1.5 GB'],
  [2.5e12, '2.5 TB'],
  [1e15, '1000 TB'],
] as const)('%d bytes are %s', ([bytes, text]) => {
  expect(bytesText(bytes)).toBe(text);
});

test('bytes are written in at most four characters, within 5 %', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9e14 }), (bytes) => {
      const [number = '', unit = ''] = bytesText(bytes).split(' ');
      const shown = Number(number) * 1000 ** ['B', 'kB', 'MB', 'GB', 'TB'].indexOf(unit);
      expect(number.length).toBeLessThanOrEqual(4);
      expect(Math.abs(shown - bytes) / bytes).toBeLessThan(0.051);
    }),
    { numRuns: 1000 },
  );
});

test.for([
  [null, '–'],
  [0, '0 s'],
  [1234, '1.2 s'],
  [10_000, '10 s'],
  [119_400, '119 s'],
  [119_600, '2 min'],
  [7_139_000, '119 min'],
  [7_199_000, '2 h'],
  [90_000_000, '25 h'],
  [91_000_000, '25.3 h'],
  [172_700_000, '2 days'],
  [1_166_400_000, '13.5 days'],
] as const)('%d ms are %s', ([ms, text]) => {
  expect(durationText(ms)).toBe(text);
});

test('counts are grouped, times are cut to the second', () => {
  expect(countText(1_234_567)).toBe('1,234,567');
  expect(secondText('2026-01-02T03:04:05.678901Z')).toBe('2026-01-02 03:04:05 UTC');
});

test('a time is told by how far it is from now', () => {
  const now = '2026-11-20T12:00:00.000Z';
  expect(agoText('2026-11-20T11:57:00.000Z', now)).toBe('3 min ago');
  expect(agoText('2026-11-20T11:59:52.700Z', now)).toBe('7 s ago');
  expect(agoText('2026-11-20T12:03:00.000Z', now)).toBe('in 3 min');
  expect(agoText('2026-11-20T12:00:01.000Z', now)).toBe('now');
});

describe('what a terminal is shown', () => {
  const hostile = 'a\u001b[31m\u009b31m\u202eb\u2066\u200f\u061c\u2028\u007f\r\tc';

  it('has no control, and nothing that changes the order of a text', () => {
    expect(printable(hostile)).toBe('a [31m 31m b       c');
    expect(printableLines(`${hostile}\r\n\td\n`)).toBe('a [31m 31m b      \tc\r\n\td\n');
    // Joined signs, accents and right-to-left letters stay as they are.
    for (const text of ['👩‍👩‍👧', 'e\u0301', 'שלום', '日本']) expect(printable(text)).toBe(text);
  });

  it('has the same value as JSON', () => {
    for (const indent of [0, 2]) {
      const shown = printableJson(JSON.stringify({ [hostile]: [hostile, '\\u202e'] }, null, indent));
      expect(shown).toMatch(/^[\n -~]*$/);
      expect(JSON.parse(shown)).toEqual({ [hostile]: [hostile, '\\u202e'] });
    }
  });
});

test('a shell reads a word as the text that it stands for, and a plain path stays as it is', () => {
  const text = `/Users/ann/Application Support/it's $(touch x) "here" \\ *?[a]{b,c} ~ !& ü\n`;
  expect(execFileSync('sh', ['-c', `printf %s ${shellWord(text)}`]).toString()).toBe(text);
  expect(execFileSync('sh', ['-c', `printf '<%s>' ${shellWord('')}`]).toString()).toBe('<>');
  expect(shellWord('/data/mirror-1/keys')).toBe('/data/mirror-1/keys');
});
