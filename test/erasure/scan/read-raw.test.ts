import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync, constants } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readRaw } from '../../../src/erasure/scan/search-files.ts';
import { createShingleSearch } from '../../../src/erasure/scan/shingle-search.ts';
import { freshFolder } from '../../mirror/open-test-mirror.ts';

const needle = Buffer.from('twelve bytes');
const chunkBytes = 1 << 20;

async function hitsIn(content: Buffer): Promise<{ hits: number; bytes: number; problems: string[] }> {
  const path = join(freshFolder(), 'file');
  writeFileSync(path, content);
  const search = createShingleSearch(1);
  search.add(needle, 0);
  let hits = 0;
  const read = await readRaw(path, () =>
    search.openStream(() => {
      hits += 1;
    }),
  );
  return { hits, ...read };
}

describe('the bytes of a file are searched', () => {
  it.each([-12, -11, -6, -1, 0])('across a border of chunks (%i)', async (offset) => {
    const content = Buffer.alloc(2 * chunkBytes + 5, 0xaa);
    needle.copy(content, chunkBytes + offset);
    expect(await hitsIn(content)).toEqual({ hits: 1, bytes: content.length, problems: [] });
  });

  it('an empty file has none', async () => {
    expect(await hitsIn(Buffer.alloc(0))).toEqual({ hits: 0, bytes: 0, problems: [] });
  });

  // Hex digits, so that what is left of it are packed literals.
  const noise = Buffer.from(randomBytes(1000).toString('hex'));
  const text = Buffer.concat([noise, needle, noise]);
  it.each([
    ['plain', zstdCompressSync(text)],
    ['with a checksum', zstdCompressSync(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })],
    ['without the size', zstdCompressSync(text, { params: { [constants.ZSTD_c_contentSizeFlag]: 0 } })],
    ['of many blocks', zstdCompressSync(Buffer.concat([randomBytes(400_000), Buffer.alloc(400_000), text]))],
  ])('what a file of Zstandard holds (%s)', async (_how, frame) => {
    expect(frame.includes(needle)).toBe(false);
    expect(await hitsIn(frame)).toEqual({ hits: 1, bytes: frame.length, problems: [] });
  });

  // Random bytes, as a MAC of the fence, begin like a frame once in 4 GB: then no erasure could be proved any more.
  it('bytes within a file that begin like a frame are none', async () => {
    const content = Buffer.concat([Buffer.alloc(9), Buffer.from('28b52ffdffff', 'hex'), Buffer.alloc(9)]);
    expect(await hitsIn(content)).toEqual({ hits: 0, bytes: content.length, problems: [] });
  });

  // The decompressor of Node ends without a word where the first frame ends.
  it.each([
    ['another frame', zstdCompressSync(text)],
    ['other bytes', Buffer.from('other bytes')],
  ])('%s behind a frame is reported', async (_what, behind) => {
    const whole = Buffer.concat([zstdCompressSync(noise), behind]);
    for (const content of [whole, gzipSync(whole)])
      expect(await hitsIn(content)).toMatchObject({ problems: [expect.stringContaining('cut off or damaged')] });
  });

  it.each([1, 5, 40])('a frame that is cut off is reported (%i bytes)', async (missing) => {
    const frame = zstdCompressSync(Buffer.concat([randomBytes(100), text]));
    expect(await hitsIn(frame.subarray(0, -missing))).toMatchObject({
      problems: [expect.stringContaining('cut off') as string],
    });
  });

  it('a frame that is damaged is reported', async () => {
    const frame = zstdCompressSync(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
    frame[frame.length - 1] = (frame.at(-1) ?? 0) ^ 1;
    expect(await hitsIn(frame)).toMatchObject({ problems: [expect.stringContaining('cut off') as string] });
  });

  it('what a gzip file holds', async () => {
    const whole = gzipSync(text);
    expect(whole.includes(needle)).toBe(false);
    expect(await hitsIn(whole)).toMatchObject({ hits: 1, problems: [] });
    expect(await hitsIn(whole.subarray(0, -9))).toMatchObject({
      problems: [expect.stringContaining('cut off') as string],
    });
  });
});
