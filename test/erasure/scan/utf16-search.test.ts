import { expect, test } from 'vitest';
import { createShingleSearch, shingleBytes } from '../../../src/erasure/scan/shingle-search.ts';
import { createUtf16Search } from '../../../src/erasure/scan/utf16-search.ts';

const text = 'ann@acme.org';
const search = createShingleSearch(1);
search.add(Buffer.from(text), 0);
const [little, big] = [Buffer.from(text, 'utf16le'), Buffer.from(text, 'utf16le').swap16()];

/** How often the text is found in these bytes, which come in chunks of so many. */
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
  for (let at = border - spelled.length - 2; at <= border + 2; at += 1) {
    const bytes = Buffer.alloc(2 * border, 0xe9);
    spelled.copy(bytes, at);
    expect([at, count(bytes, bytes.length), count(bytes, border)]).toEqual([at, 1, 1]);
  }
});

test('what only begins as a text of UTF-16 is searched in no other form', () => {
  expect(count(Buffer.from(text), 4)).toBe(0);
});
