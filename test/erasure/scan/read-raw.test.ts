import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync, constants } from 'node:zlib';
import Sqlite from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readRaw } from '../../../src/erasure/scan/read-raw.ts';
import { createShingleSearch } from '../../../src/erasure/scan/shingle-search.ts';
import { freshFolder, openTestMirror } from '../../mirror/open-test-mirror.ts';

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

function openOther(): { db: Sqlite.Database; dataDir: string } {
  const dataDir = freshFolder();
  const db = new Sqlite(join(dataDir, 'mirror.db'));
  db.pragma('journal_mode = WAL');
  onTestFinished(() => void db.close());
  return { db, dataDir };
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
  ])('a frame of Zstandard, wherever it lies (%s)', async (_how, frame) => {
    expect(frame.includes(needle)).toBe(false);
    const { hits: hitsAlone } = await hitsIn(frame);
    for (const before of [1, chunkBytes - 2, chunkBytes - 1, chunkBytes]) {
      const content = Buffer.concat([Buffer.alloc(before, 1), frame, Buffer.alloc(7, 2), frame]);
      expect(await hitsIn(content)).toEqual({ hits: 2 * hitsAlone, bytes: content.length, problems: [] });
    }
    expect(hitsAlone).toBeGreaterThan(0);
  });

  // Once in 4 GB, a MAC of the fence begins like a frame: then no erasure could be proved any more.
  it.each([
    ['a mirror', openTestMirror, []],
    ['another database', openOther, [expect.stringContaining('cut off')]],
  ])('bytes that begin like a frame, in %s', async (_what, open, problems) => {
    const { db, dataDir } = open();
    db.exec(`CREATE TABLE chance (bytes BLOB); INSERT INTO chance VALUES (x'28b52ffdffff')`);
    db.pragma('wal_checkpoint');
    for (const name of ['mirror.db', 'mirror.db-wal']) {
      const read = await readRaw(join(dataDir, name), () => () => undefined);
      expect([name, read.problems]).toEqual([name, problems]);
    }
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
