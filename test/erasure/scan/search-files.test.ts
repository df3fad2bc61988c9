import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { listFiles, readRaw } from '../../../src/erasure/scan/search-files.ts';
import { createShingleSearch } from '../../../src/erasure/scan/shingle-search.ts';
import { freshFolder } from '../../mirror/open-test-mirror.ts';
import { tarOf, zipOf } from './packed.ts';

const frameSize = constants.ZSTD_c_contentSizeFlag;
const needle = Buffer.from('twelve bytes');
const noise = Buffer.from(randomBytes(3000).toString('hex'));
const text = Buffer.concat([noise, needle, noise]);

function search(content: Buffer, name = 'file') {
  const path = join(freshFolder(), name);
  writeFileSync(path, content);
  const needles = createShingleSearch(1);
  needles.add(needle, 0);
  let hits = 0;
  const read = readRaw(
    path,
    needles.openStream(() => (hits += 1)),
  );
  return { hits, ...read };
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

const found = { hits: 1, unread: undefined };

describe('the bytes of a file are searched', () => {
  it.each([-12, -11, -6, -1, 0])('across a border of chunks (%i)', (offset) => {
    const chunkBytes = 1 << 20;
    const content = Buffer.alloc(2 * chunkBytes + 5, 0xaa);
    needle.copy(content, chunkBytes + offset);
    expect(search(content)).toEqual({ ...found, bytes: content.length });
  });

  it('an empty file has none', () => {
    expect(search(Buffer.alloc(0))).toEqual({ hits: 0, bytes: 0, unread: undefined });
  });
});

describe('packed content is named as not read, with the fix', () => {
  const zip = zipOf({ 'b.txt': text });
  it.each<[string, string, Buffer, string?]>([
    ['gzip', 'gzip', gzipSync(text)],
    ['half a gzip', 'gzip', gzipSync(text).subarray(0, 300)],
    ['Zstandard', 'Zstandard', zstdCompressSync(text)],
    ['Zstandard without the size', 'Zstandard', zstdCompressSync(text, { params: { [frameSize]: 0 } })],
    ['zip', 'zip', zip],
    ['zip without compression', 'zip', zipOf({ 'b.txt': text }, 0)],
    ['an empty zip', 'zip', zipOf({})],
    ['half a zip', 'zip', zip.subarray(0, 400)],
    ['zip64', 'zip', zip64Of(zip)],
    ['a zip that extracts itself', 'zip', Buffer.concat([stub, zip])],
    ['a zip that extracts itself, and knows where it begins', 'zip', selfExtracting({ 'b.txt': text })],
    ['a signed zip that extracts itself', 'zip', Buffer.concat([selfExtracting({ 'b.txt': text }), noise])],
    ['zip64 that extracts itself', 'zip', Buffer.concat([stub, zip64Of(zip)])],
    ['tar', 'tar', tarOf({ 'a.txt': noise, 'b.gz': gzipSync(text) })],
    ['a tar of before POSIX', 'tar', tarOf({ 'b.gz': gzipSync(text) }, false)],
    ['gzip of tar', 'gzip', gzipSync(tarOf({ 'b.txt': text }))],
    ['brotli, by its name', 'brotli', brotliCompressSync(text), 'access.log.br'],
    ['xz', 'xz', Buffer.from('fd377a585a000004e6d6b446', 'hex')],
    ['bzip2', 'bzip2', Buffer.concat([Buffer.from('425a6839314159265359', 'hex'), noise])],
    ['7z', '7z', Buffer.from('377abcaf271c0004', 'hex')],
  ])('%s', (_what, format, content, name) => {
    expect(search(content, name).unread).toBe(`packed as ${format}: unpack it and scan again`);
  });

  it.each([
    ['pdf', '%PDF-1.7 and so on'],
    ['parquet by another name', 'PAR1 and so on'],
    ['Avro', 'Obj\u0001\u0004\u0014avro.codec\u000edeflate'],
    ['DuckDB, with compressed columns', `checksumDUCK\u0040${'\0'.repeat(7)} and so on`],
    ['DuckDB, with compressed columns', `checksumDUCK\u0067\u0003${'\0'.repeat(6)} and so on`],
  ])('%s cannot be unpacked', (format, content) => {
    expect(search(Buffer.from(content)).unread).toBe(`${format}, which this program cannot read`);
  });

  it('as common programs pack it', () => {
    const folder = freshFolder();
    writeFileSync(join(folder, 'b.txt'), text);
    for (const [flags, format] of [
      ['-cf', 'tar'],
      ['-czf', 'gzip'],
    ] as const) {
      const { status } = spawnSync('tar', [flags, 'a', 'b.txt'], { cwd: folder });
      expect(status).toBe(0);
      expect(search(readFileSync(join(folder, 'a'))).unread).toContain(`packed as ${format}`);
    }
  });

  it('and its bytes are searched all the same', () => {
    expect(search(tarOf({ 'b.txt': text })).hits).toBe(1);
  });

  it('but not text that only looks like it', () => {
    for (const content of ['BZh9 is a word', 'PK and more', '7z', 'ustar', 'PAR 1', 'Donald, DUCK'])
      expect(search(Buffer.from(`${content} ${String(text)}`))).toMatchObject(found);
    expect(search(Buffer.concat([text, Buffer.from('504b0506', 'hex'), noise]))).toMatchObject(found);
  });

  it('but not a database in which somebody is named like an archive', () => {
    const named = Buffer.concat([Buffer.from('SQLite format 3\0'), text, zipOf({ a: text })]);
    expect(search(named)).toMatchObject(found);
  });

  // Random bytes, as a MAC of the fence, begin like a frame once in 4 GB: then no erasure could be proved any more.
  it('but not bytes within a file that begin like a frame', () => {
    expect(search(Buffer.concat([text, Buffer.from('28b52ffdffff', 'hex'), noise]))).toMatchObject(found);
  });
});

it('a draft that has become its file since it was listed is no gap, and any other file that is gone is one', () => {
  const folder = freshFolder();
  const names = ['callbacks.json.draft-3f0e4bfe-3bb5-4d6c-a3b4-c6a1d1a2a0d1', 'notes.txt', 'report.json'];
  for (const name of names) writeFileSync(join(folder, name), '');
  const takeEntry = (_parent: string, name: string): void => {
    if (name !== 'report.json') rmSync(join(folder, name));
  };
  const found = [...listFiles(folder, '', { takeEntry })].map(({ place, problem }) => [place, problem]);
  expect(found).toEqual([
    ['notes.txt', 'ENOENT'],
    ['report.json', null],
  ]);
});
