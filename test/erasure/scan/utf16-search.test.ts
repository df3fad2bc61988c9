import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createShingleSearch, shingleBytes } from '../../../src/erasure/scan/shingle-search.ts';
import { createUtf16Search } from '../../../src/erasure/scan/utf16-search.ts';

const text = 'ann@acme.org';
const word = 'Žluťoučký';
const search = createShingleSearch(2);
for (const each of [text, word]) search.add(Buffer.from(each), 0);
const [little, big] = [Buffer.from(text, 'utf16le'), Buffer.from(text, 'utf16le').swap16()];

/** How often the texts are found in these bytes, which come in chunks of so many. */
function count(bytes: Buffer, chunkBytes: number): number {
  let found = 0;
  const stream = createUtf16Search(() => search.openStream(() => (found += 1)));
  for (let at = 0; at < bytes.length; at += chunkBytes) stream(bytes.subarray(at, at + chunkBytes));
  return found;
}

test.each([
  ['little-endian', little],
  ['big-endian', big],
])('a %s text of the shortest length is found wherever it stands', (_name, spelled) => {
  expect(text).toHaveLength(shingleBytes);
  const border = 1 << 16;
  const nearBorder = Array.from({ length: spelled.length + 5 }, (_, index) => border + 2 - index);
  for (const at of [0, 1, 2, 3, 4, 5, 6, 7, 8, ...nearBorder]) {
    const bytes = Buffer.alloc(2 * border, 0xe9);
    spelled.copy(bytes, at);
    // In chunks of odd length, too.
    const counts = [bytes.length, border, border - 1].map((chunkBytes) => count(bytes, chunkBytes));
    expect([at, ...counts]).toEqual([at, 1, 1, 1]);
  }
});

test('what only begins as a text of UTF-16 is searched in no other form', () => {
  expect(count(Buffer.from(text), 4)).toBe(0);
});

test('a file with a mark is read as UTF-16, though no character of it is ASCII', () => {
  const marked = Buffer.from(`\ufeff東京東京東京東京${word}東京`, 'utf16le');
  expect(count(marked, marked.length)).toBeGreaterThan(0);
  expect(count(marked.swap16(), marked.length)).toBeGreaterThan(0);
});

test('neither text in UTF-8 nor any bytes are taken for UTF-16', () => {
  const bytes = Buffer.concat([Buffer.from(`${text} ${word}`.repeat(100)), randomBytes(100_000)]);
  expect(count(bytes, bytes.length)).toBe(0);
});
