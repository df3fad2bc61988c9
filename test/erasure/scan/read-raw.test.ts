import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readRaw } from '../../../src/erasure/scan/search-files.ts';
import { createShingleSearch } from '../../../src/erasure/scan/shingle-search.ts';
import { freshFolder } from '../../mirror/open-test-mirror.ts';

const needle = Buffer.from('twelve bytes');
const chunkBytes = 1 << 20;

function hitsIn(content: Buffer): { hits: number; bytes: number; unread: string | undefined } {
  const path = join(freshFolder(), 'file');
  writeFileSync(path, content);
  const search = createShingleSearch(1);
  search.add(needle, 0);
  let hits = 0;
  const stream = search.openStream(() => (hits += 1));
  const read = readRaw(path, stream);
  return { hits, ...read };
}

describe('the bytes of a file are searched', () => {
  it.each([-12, -11, -6, -1, 0])('across a border of chunks (%i)', (offset) => {
    const content = Buffer.alloc(2 * chunkBytes + 5, 0xaa);
    needle.copy(content, chunkBytes + offset);
    expect(hitsIn(content)).toEqual({ hits: 1, bytes: content.length, unread: undefined });
  });

  it('an empty file has none', () => {
    expect(hitsIn(Buffer.alloc(0))).toEqual({ hits: 0, bytes: 0, unread: undefined });
  });
});
