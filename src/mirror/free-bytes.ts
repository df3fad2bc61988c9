import { fsyncSync, readSync, writeSync } from 'node:fs';
import { AppError } from '../core/errors.ts';
import { openFile } from '../core/open-file.ts';

// The layout of a file of SQLite: https://sqlite.org/fileformat2.html. Numbers are big-endian.

/** Kinds of pages of a tree, by their first byte. */
const kinds = { interiorIndex: 2, interiorTable: 5, leafIndex: 10, leafTable: 13 } as const;

/** The parts of a page's header, from where it begins: behind the header of the file on page 1. */
const fileHeaderBytes = 100;
const [leafHeaderBytes, interiorHeaderBytes] = [8, 12];
/** This page is never used: locks stand there. */
const lockByte = 2 ** 30;
const cellBytesMin = 4;
const freeBlockHeaderBytes = 4;

/** Parts of the file or of a page: an offset and a length each. */
type Ranges = [offset: number, bytes: number][];

/**
 * Fills with zeros every byte of a mirror's file that holds nothing: gaps, free blocks and the ends of its pages, and free pages.
 * SQLite never reads these bytes, so that a kill at any point harms nothing. `roots`: the first page of every tree but the schema's.
 * Returns how many bytes were written.
 *
 * Call it in a process that opened the file by SQLite only once (closing it here drops all locks of the process), while the log is
 * empty and its writer's lock is held: the file is the whole truth then, and nobody changes it. Other connections keep old pages, so
 * something has to be written by SQLite before the lock is given up: then they read again. Throws `storage`, with nothing written,
 * for a file in which a page is used twice or by nothing, and the system's error.
 */
export function zeroFreeBytes(path: string, roots: readonly number[]): number {
  using file = openFile(path, 'r+');
  const leftovers = findLeftovers(file.descriptor, roots);
  const longest = leftovers.reduce((most, [, bytes]) => Math.max(most, bytes), 0);
  const zeros = Buffer.alloc(longest);
  for (const [offset, bytes] of leftovers) writeSync(file.descriptor, zeros, 0, bytes, offset);
  fsyncSync(file.descriptor);
  return leftovers.reduce((sum, [, bytes]) => sum + bytes, 0);
}

/** What is known of a file while it is read. Both read a page that nothing else has used: one of a tree, and another. */
type Reading = {
  takeOfTree: (page: number) => Buffer;
  take: (page: number) => Buffer;
  usableBytes: number;
  leaves: (page: number, bytes: Buffer, from: number, to: number) => void;
};

/** Where bytes of the file lie that hold nothing and are not zero. */
function findLeftovers(descriptor: number, roots: readonly number[]): Ranges {
  const header = Buffer.alloc(fileHeaderBytes);
  readSync(descriptor, header, 0, fileHeaderBytes, 0);
  const pageBytes = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const usableBytes = pageBytes - header.readUInt8(20);
  const [pages, firstTrunk, largestRoot] = [28, 32, 52].map((at) => header.readUInt32BE(at)) as [
    number,
    number,
    number,
  ];
  const isUsed = new Uint8Array(pages + 1);
  const zeros = Buffer.alloc(pageBytes);
  const leftovers: Ranges = [];
  let used = 0;
  /** A page is valid until the next call. */
  const pageReader = () => {
    const read = Buffer.alloc(pageBytes);
    return (page: number): Buffer => {
      if (page < 1 || page > pages || isUsed[page] === 1) throw damaged(`page ${page} is used twice, or is none`);
      isUsed[page] = 1;
      used += 1;
      if (readSync(descriptor, read, 0, pageBytes, (page - 1) * pageBytes) < pageBytes)
        throw damaged(`page ${page} is not whole`);
      return read;
    };
  };
  const reading: Reading = {
    usableBytes,
    takeOfTree: pageReader(),
    take: pageReader(),
    leaves: (page, bytes, from, to) => {
      if (to <= from || bytes.compare(zeros, from, to, from, to) === 0) return;
      leftovers.push([(page - 1) * pageBytes + from, to - from]);
    },
  };
  // A file that moves its pages has others in between.
  if (largestRoot !== 0) throw damaged('it moves its pages by itself');
  readTrees(reading, [1, ...roots]);
  readFreePages(reading, firstTrunk);
  const unused = pages * pageBytes > lockByte ? 1 : 0;
  if (used + unused !== pages) throw damaged(`${pages - unused - used} pages belong to nothing`);
  return leftovers;
}

function damaged(why: string): AppError {
  return new AppError(`the mirror's file is damaged: ${why}`, {
    code: 'storage',
    hint: '`analytics-mirror doctor` checks it; restore mirror.db from a backup',
  });
}

/** Reads the pages of trees, level by level in the order of the file, and those on which long values go on. */
function readTrees(reading: Reading, roots: readonly number[]): void {
  for (let level = roots; level.length > 0;) {
    const below: number[] = [];
    for (const page of new Uint32Array(level).toSorted()) {
      const chains: Chain[] = [];
      readTreePage(reading, page, below, chains);
      for (const chain of chains) readChain(reading, chain);
    }
    level = below;
  }
}

/** Where a long value goes on, and how many of its bytes are there. */
type Chain = { page: number; bytes: number };

/** Notes what a page of a tree leaves unused, the pages below it, and the chains that begin there. */
function readTreePage(reading: Reading, page: number, below: number[], chains: Chain[]): void {
  const bytes = reading.takeOfTree(page);
  const { usableBytes } = reading;
  const start = page === 1 ? fileHeaderBytes : 0;
  const kind = bytes.readUInt8(start);
  if (!Object.values(kinds).some((known) => known === kind)) throw damaged(`page ${page} is not of a tree`);
  const isInterior = kind === kinds.interiorIndex || kind === kinds.interiorTable;
  if (isInterior) below.push(bytes.readUInt32BE(start + 8));
  const cells = bytes.readUInt16BE(start + 3);
  const pointers = start + (isInterior ? interiorHeaderBytes : leafHeaderBytes);
  const taken: Ranges = [];
  for (let at = bytes.readUInt16BE(start + 1); at !== 0; at = bytes.readUInt16BE(at)) {
    taken.push([at, freeBlockHeaderBytes]);
    if (taken.length > usableBytes / freeBlockHeaderBytes) throw damaged(`free blocks of page ${page} do not end`);
  }
  for (let cell = 0; cell < cells; cell += 1) {
    const at = bytes.readUInt16BE(pointers + 2 * cell);
    taken.push([at, readCell(bytes, at, kind, usableBytes, chains)]);
    if (isInterior) below.push(bytes.readUInt32BE(at));
  }
  taken.sort(([one], [other]) => one - other);
  let from = pointers + 2 * cells;
  for (const [at, length] of taken) {
    if (at < from) throw damaged(`cells of page ${page} overlap`);
    reading.leaves(page, bytes, from, at);
    from = at + length;
  }
  if (from > usableBytes) throw damaged(`a cell of page ${page} has no end`);
  reading.leaves(page, bytes, from, usableBytes);
}

/** How many bytes a cell has on its page. */
function readCell(bytes: Buffer, at: number, kind: number, usableBytes: number, chains: Chain[]): number {
  let end = kind === kinds.leafIndex || kind === kinds.leafTable ? at : at + 4;
  const first = readVarint(bytes, end);
  end = first.end;
  if (kind === kinds.interiorTable) return end - at;
  if (kind === kinds.leafTable) end = readVarint(bytes, end).end;
  const here = bytesHere(first.value, kind === kinds.leafTable, usableBytes);
  end += here;
  if (here < first.value) {
    chains.push({ page: bytes.readUInt32BE(end), bytes: first.value - here });
    end += 4;
  }
  return Math.max(end - at, cellBytesMin);
}

/** How much of a value stands in its cell; the rest stands on pages of its own. */
function bytesHere(bytes: number, isTable: boolean, usableBytes: number): number {
  const most = isTable ? usableBytes - 35 : Math.floor(((usableBytes - 12) * 64) / 255) - 23;
  if (bytes <= most) return bytes;
  const least = Math.floor(((usableBytes - 12) * 32) / 255) - 23;
  const some = least + ((bytes - least) % (usableBytes - 4));
  return some <= most ? some : least;
}

function readVarint(bytes: Buffer, at: number): { value: number; end: number } {
  let value = 0;
  for (let place = 0; place < 8; place += 1) {
    const byte = bytes.readUInt8(at + place);
    value = value * 128 + (byte & 127);
    if (byte < 128) return { value, end: at + place + 1 };
  }
  // Nine bytes are a negative row key, of which only the length matters.
  return { value: value * 256 + bytes.readUInt8(at + 8), end: at + 9 };
}

/** Reads the pages on which a long value goes on. */
function readChain(reading: Reading, { page, bytes }: Chain): void {
  const { usableBytes } = reading;
  for (let left = bytes; left > 0; left -= usableBytes - 4) {
    const read = reading.take(page);
    reading.leaves(page, read, Math.min(left + 4, usableBytes), usableBytes);
    page = read.readUInt32BE(0);
  }
}

/** Reads the free pages: some list others. */
function readFreePages(reading: Reading, firstTrunk: number): void {
  for (let trunk = firstTrunk; trunk !== 0;) {
    const bytes = reading.take(trunk);
    const next = bytes.readUInt32BE(0);
    const listed = Array.from({ length: bytes.readUInt32BE(4) }, (_none, index) => bytes.readUInt32BE(8 + 4 * index));
    reading.leaves(trunk, bytes, 8 + 4 * listed.length, reading.usableBytes);
    for (const page of listed) reading.leaves(page, reading.take(page), 0, reading.usableBytes);
    trunk = next;
  }
}
