import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readRaw } from '../../../src/erasure/scan/search-files.ts';
import { createShingleSearch } from '../../../src/erasure/scan/shingle-search.ts';
import { createUtf16Search } from '../../../src/erasure/scan/utf16-search.ts';
import { freshFolder } from '../../mirror/open-test-mirror.ts';
import { oldTarOf, tarOf, zipOf } from './packed.ts';

const needle = Buffer.from('twelve bytes');
const noise = Buffer.from(randomBytes(3000).toString('hex'));
const text = Buffer.concat([noise, needle, noise]);

async function search(content: Buffer, name = 'file', limits?: { bytesFree: number; ratioMax: number }) {
  const path = join(freshFolder(), name);
  writeFileSync(path, content);
  const needles = createShingleSearch(1);
  needles.add(needle, 0);
  let hits = 0;
  const { problems } = await readRaw(path, () => needles.openStream(() => (hits += 1)), limits);
  return { isFound: hits > 0, problems };
}

/** What stands before a zip that extracts itself. */
const stub = Buffer.concat([Buffer.from('MZ'), noise]);

/** Its offsets count from the beginning of the file. */
function selfExtracting(files: Readonly<Record<string, Buffer>>): Buffer {
  const whole = Buffer.concat([stub, zipOf(files)]);
  const end = whole.lastIndexOf('504b0506', undefined, 'hex');
  const start = whole.readUInt32LE(end + 16) + stub.length;
  whole.writeUInt32LE(start, end + 16);
  whole.writeUInt32LE(whole.readUInt32LE(start + 42) + stub.length, start + 42);
  return whole;
}

/** The end of a zip archive that says that the true values stand elsewhere. */
function zip64Of(zip: Buffer): Buffer {
  const whole = Buffer.from(zip);
  whole.fill(0xff, whole.length - 14, whole.length - 2);
  return whole;
}

/** A zip archive that says so of the bytes of its only file. */
function largeIn(zip: Buffer): Buffer {
  const whole = Buffer.from(zip);
  whole.fill(0xff, whole.readUInt32LE(whole.length - 6) + 20, whole.readUInt32LE(whole.length - 6) + 28);
  return whole;
}

const found = { isFound: true, problems: [] };

describe('packed content is searched', () => {
  it.each<[string, Buffer, string?]>([
    ['gzip', gzipSync(text)],
    ['gzip of several parts', Buffer.concat([gzipSync(noise), gzipSync(text)])],
    ['zip', zipOf({ 'a.txt': noise, 'b.txt': text })],
    ['zip without compression', zipOf({ 'b.txt': text }, 0, 0)],
    ['zip of gzip', zipOf({ 'b.gz': gzipSync(text) })],
    ['zip of zip', zipOf({ 'b.zip': zipOf({ c: text }) })],
    ['tar of gzip', tarOf({ 'a.txt': noise, 'b.gz': gzipSync(text) })],
    ['tar of empty files', tarOf({ a: Buffer.alloc(0), b: gzipSync(text), c: Buffer.alloc(512) })],
    ['gzip of tar', gzipSync(tarOf({ 'a.txt': noise, 'b.txt': text }))],
    ['gzip of tar of zip of zstd', gzipSync(tarOf({ z: zipOf({ y: zstdCompressSync(text) }) }))],
    ['zstd of tar of gzip', zstdCompressSync(tarOf({ a: noise, b: gzipSync(text) }))],
    ['a name within gzip of tar', gzipSync(tarOf({ [`the ${String(needle)}`]: noise }))],
    ['a zip that extracts itself', Buffer.concat([stub, zipOf({ 'b.txt': text })])],
    ['a zip that extracts itself, and knows where it begins', selfExtracting({ 'b.txt': text })],
    ['a signed zip that extracts itself', Buffer.concat([selfExtracting({ 'b.txt': text }), noise])],
    ['gzip within a tar of before POSIX', oldTarOf({ 'b.gz': gzipSync(text) })],
    ['gzip of a tar of before POSIX of gzip', gzipSync(oldTarOf({ a: noise, 'b.gz': gzipSync(text) }))],
    ['brotli, by its name', brotliCompressSync(text), 'access.log.br'],
  ])('%s', async (_what, content, name) => {
    if (name) expect(content.includes(needle)).toBe(false);
    expect(await search(content, name)).toEqual(found);
  });

  it('as common programs pack it', async () => {
    const folder = freshFolder();
    writeFileSync(join(folder, 'b.txt'), text);
    const { status } = spawnSync('tar', ['-czf', 'a.tgz', 'b.txt'], { cwd: folder });
    expect(status).toBe(0);
    expect(await search(readFileSync(join(folder, 'a.tgz')))).toEqual(found);
  });
});

describe('what cannot be read is told, with the reason', () => {
  const nested = Array.from({ length: 8 }).reduce<Buffer>((inner) => gzipSync(inner), text);
  it.each<[string, Buffer, string]>([
    ['xz', Buffer.from('fd377a585a000004e6d6b446', 'hex'), 'compressed as xz'],
    ['bzip2', Buffer.concat([Buffer.from('425a6839314159265359', 'hex'), noise]), 'compressed as bzip2'],
    ['7z', Buffer.from('377abcaf271c0004', 'hex'), 'compressed as 7z'],
    ['xz in tar in gzip', gzipSync(tarOf({ a: noise, b: Buffer.from('fd377a585a000004', 'hex') })), 'compressed as xz'],
    ['a zip with a password', zipOf({ a: text }, 1), 'is encrypted'],
    ['a zip with another method', zipOf({ a: text }, 0, 14), 'by method 14'],
    ['half a zip', zipOf({ a: text }).subarray(0, 400), 'cut off or damaged'],
    ['half a tar in gzip', gzipSync(tarOf({ a: text }).subarray(0, 5000)), 'cut off or damaged'],
    ['half a gzip', gzipSync(text).subarray(0, 300), 'cut off or damaged'],
    ['zip64', zip64Of(zipOf({ a: text })), 'zip64'],
    ['a zip with a file beyond 4 GiB', largeIn(zipOf({ a: text })), 'zip64'],
    ['zip64 that extracts itself', Buffer.concat([stub, zip64Of(zipOf({ a: text }))]), 'zip64'],
    ['a zip that extracts itself in a tar', tarOf({ a: Buffer.concat([stub, zipOf({ a: text })]) }), 'behind other'],
    ['pdf', Buffer.from('%PDF-1.7 and so on'), 'compressed as pdf'],
    ['parquet by another name', Buffer.from('PAR1 and so on'), 'compressed as parquet'],
    ['too many archives in each other', nested, 'too deep'],
  ])('%s', async (_what, content, reason) => {
    expect((await search(content)).problems).toEqual([expect.stringContaining(reason)]);
  });

  it('a small file with very much content, and nothing is unpacked after that', async () => {
    const bomb = gzipSync(Buffer.alloc(30_000_000));
    const { problems } = await search(bomb, 'file', { bytesFree: 1_000_000, ratioMax: 10 });
    expect(problems).toEqual(['its content is too large for its size']);
  });

  it('but not text that only looks like it', async () => {
    for (const content of ['BZh9 is a word', 'PK and more', '7z', 'ustar', 'PAR 1'])
      expect(await search(Buffer.from(`${content} ${String(text)}`))).toEqual(found);
    expect(await search(Buffer.concat([text, Buffer.from('504b0506', 'hex'), noise]))).toEqual(found);
    expect(await search(gzipSync(Buffer.concat([text, Buffer.from('504b0304ffff', 'hex'), noise])))).toEqual(found);
  });

  it('but not a database in which somebody is named like an archive', async () => {
    const named = Buffer.concat([Buffer.from('SQLite format 3\0'), text, zipOf({ a: text }, 1)]);
    expect(await search(named)).toEqual(found);
  });
});

describe('UTF-16 is found', () => {
  const isFoundIn = (chunks: Buffer[]): boolean => {
    const needles = createShingleSearch(1);
    needles.add(needle, 0);
    let hits = 0;
    const stream = createUtf16Search(() => needles.openStream(() => (hits += 1)));
    for (const chunk of chunks) stream(chunk);
    return hits > 0;
  };
  const little = Buffer.from(`${String(needle)} and so on`, 'utf16le');
  const big = Buffer.from(little).swap16();

  it.each([
    ['little end first', little],
    ['big end first', big],
  ])('%s, at any offset and across any border of chunks', (_what, encoded) => {
    for (const before of [0, 1, 2, 3, 4, 5, 6, 7, 8, 1001]) {
      const bytes = Buffer.concat([Buffer.alloc(before, 0xaa), encoded, Buffer.alloc(100, 0xaa)]);
      expect(isFoundIn([bytes])).toBe(true);
      for (let cut = before; cut < before + encoded.length; cut += 1)
        expect(isFoundIn([bytes.subarray(0, cut), bytes.subarray(cut)])).toBe(true);
    }
  });

  it('in a file with a mark, though no character of it is ASCII', () => {
    const word = 'Žluťoučký';
    const needles = createShingleSearch(1);
    needles.add(Buffer.from(word), 0);
    for (const swap of [false, true]) {
      const encoded = Buffer.from(`\ufeff東京東京東京東京${word}東京`, 'utf16le');
      let hits = 0;
      createUtf16Search(() => needles.openStream(() => (hits += 1)))(swap ? encoded.swap16() : encoded);
      expect(hits).toBeGreaterThan(0);
    }
  });

  it('and nothing else is taken for it', () => {
    expect(isFoundIn([text, noise, randomBytes(100_000)])).toBe(false);
  });
});
