import { hash } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import packageJson from '../../package.json' with { type: 'json' };
import { shallowJson, parseRow } from '../core/deep-json.ts';
import { sha256 } from '../core/digest.ts';
import { datasets, type PagedDataset } from '../contract/datasets.ts';
import { rowReaders } from '../contract/row-readers.ts';
import type { Columns } from '../contract/tolerant-reader.ts';
import type { QuarantinedRow } from './quarantine.ts';
import { transact } from './transact.ts';

/** The bytes of a row in those of its page, and the time (microseconds) that it is sorted by. */
export type SentBytes = { page: Buffer; from: number; to: number; time: bigint | null };

/** A stored row that is shown by the same bytes as last time. It is read only if its fingerprint no longer stands. */
export class KnownRow implements SentBytes {
  readonly page: Buffer;
  readonly from: number;
  readonly to: number;
  readonly rowKey: number;
  /** The block that its fingerprint was found in. */
  readonly block: Buffer;
  readonly time: bigint | null;
  private readonly reader: (row: SentBytes) => ReadAfterAll;

  constructor(known: Omit<KnownRow, 'time' | 'read'> & { reader: KnownRow['reader'] }) {
    this.page = known.page;
    this.from = known.from;
    this.to = known.to;
    this.rowKey = known.rowKey;
    this.block = known.block;
    this.reader = known.reader;
    const time = this.block.readBigInt64LE(placeOf(this.rowKey) + hashBytes + 4);
    this.time = time === untimed ? null : time;
  }

  read(): ReadAfterAll {
    return this.reader(this);
  }
}

/** A row that was known, and is read after all. */
type ReadAfterAll = { columns: Readonly<Columns> } | { unread: QuarantinedRow };

const hashBytes = 16;
/** A hash, a length of 4 bytes, a time of 8. */
const printBytes = hashBytes + 4 + 8;
const blockBits = 7;
const blockBytes = printBytes << blockBits;
const untimed = -(2n ** 63n);

function placeOf(rowKey: number): number {
  return (rowKey & ((1 << blockBits) - 1)) * printBytes;
}

/** The first bytes of the SHA-256 of a row, one character a byte: Node gives a text in a third of the time of a buffer. */
function hashOf(page: Buffer, from: number, to: number): string {
  return hash('sha256', page.subarray(from, to), 'binary').slice(0, hashBytes);
}

/** Finds a known row by the bytes that begin at `from`, at a surrogate key or a few keys from there. */
export type FindKnown = (page: Buffer, from: number, near: number) => KnownRow | undefined;

/** The fingerprints of a dataset. */
export type Fingerprints = {
  /** Begins the search in one page. It reads each block once, so that it is of no use for the next page. */
  beginFind: () => FindKnown;
  /** Begins the changes of a page with such known rows. Call it and whatever follows in the transaction that writes the page. */
  begin: (known: Iterable<KnownRow>) => void;
  /** Whether the fingerprint that a row was known by is still that of the stored row. */
  stands: (row: KnownRow) => boolean;
  /** Notes by which bytes a row was shown that is stored as shown; for every other row that was written or shown, undefined. */
  note: (rowKey: number, sent: SentBytes | undefined) => void;
  /** Writes what was noted. After the rows, since a change of a row drops its block. */
  save: () => void;
};

/** Where the next row is looked for: most often right behind the one before it, sometimes a few rows were removed there. */
const steps = [0, 1, 2, -1] as const;

/** Opens the fingerprints of a dataset. Those that another reader has left are dropped. */
export function openFingerprints(db: Database, dataset: PagedDataset, jsonDepthMax: number): Fingerprints {
  dropOthers(db, dataset, jsonDepthMax);
  const find = db.prepare<[number], Buffer>(/*sql*/ `SELECT prints FROM ${dataset}_shown WHERE block = ?`).pluck();
  const put = db.prepare<[number, Buffer]>(
    /*sql*/ `INSERT INTO ${dataset}_shown (block, prints) VALUES (?, ?) ON CONFLICT DO UPDATE SET prints = excluded.prints`,
  );
  const print = Buffer.alloc(printBytes);
  const blocks = new Map<number, { prints: Buffer; isChanged: boolean }>();
  const load = (number: number): { prints: Buffer; isChanged: boolean } => {
    let block = blocks.get(number);
    if (!block)
      blocks.set(number, (block = { prints: find.get(number) ?? Buffer.alloc(blockBytes), isChanged: false }));
    return block;
  };
  const reader = ({ page, from, to }: SentBytes): ReadAfterAll => {
    const value = parseRow(page, from, to, false, jsonDepthMax);
    const read = rowReaders[dataset](value);
    if (read.ok) return read;
    return { unread: { key: read.key, reason: read.reason, payload: shallowJson(value) } };
  };
  return {
    beginFind: () => {
      const found = new Map<number, { prints: Buffer; text: string } | undefined>();
      const blockOf = (rowKey: number): { prints: Buffer; text: string } | undefined => {
        const number = rowKey >> blockBits;
        if (found.has(number)) return found.get(number);
        const prints = find.get(number);
        const block = prints && { prints, text: prints.toString('latin1') };
        found.set(number, block);
        return block;
      };
      return (page, from, near) => {
        for (const step of steps) {
          const rowKey = near + step;
          const block = blockOf(rowKey);
          if (!block) continue;
          const place = placeOf(rowKey);
          const bytes = block.prints.readUInt32LE(place + hashBytes);
          if (bytes === 0 || !mayEnd(page[from + bytes])) continue;
          if (block.text.startsWith(hashOf(page, from, from + bytes), place))
            return new KnownRow({ page, from, to: from + bytes, rowKey, block: block.prints, reader });
        }
        return undefined;
      };
    },
    begin: (known) => {
      blocks.clear();
      // Before a change of one of their rows drops them.
      for (const { rowKey } of known) load(rowKey >> blockBits);
    },
    stands: ({ rowKey, block }) => {
      const place = placeOf(rowKey);
      return (
        load(rowKey >> blockBits).prints.compare(block, place, place + printBytes, place, place + printBytes) === 0
      );
    },
    note: (rowKey, sent) => {
      writePrint(print, sent);
      const block = load(rowKey >> blockBits);
      const place = placeOf(rowKey);
      if (block.prints.compare(print, 0, printBytes, place, place + printBytes) === 0) return;
      print.copy(block.prints, place);
      block.isChanged = true;
    },
    save: () => {
      for (const [number, { prints, isChanged }] of blocks) if (isChanged) put.run(number, prints);
    },
  };
}

function writePrint(print: Buffer, sent: SentBytes | undefined): void {
  if (!sent) return void print.fill(0);
  const { page, from, to, time } = sent;
  print.write(hashOf(page, from, to), 0, 'latin1');
  print.writeUInt32LE(to - from, hashBytes);
  print.writeBigInt64LE(time ?? untimed, hashBytes + 4);
}

/** Whether a row of a list may end before this byte: a comma, the end of the list, or white space. */
function mayEnd(byte: number | undefined): boolean {
  return byte === 0x2c || byte === 0x5d || byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Drops the fingerprints of a dataset if another version, other columns or another depth of JSON has written them. */
function dropOthers(db: Database, dataset: PagedDataset, jsonDepthMax: number): void {
  const fields = datasets[dataset].fields.map(({ name, kind }) => [name, kind]);
  const reader = sha256(JSON.stringify([packageJson.version, jsonDepthMax, fields]));
  const find = db.prepare<[string], string>(/*sql*/ `SELECT reader FROM shown_reader WHERE dataset = ?`).pluck();
  if (find.get(dataset) === reader) return;
  transact(db, () => {
    db.exec(/*sql*/ `DELETE FROM ${dataset}_shown`);
    db.prepare(/*sql*/ `INSERT INTO shown_reader (dataset, reader) VALUES (?, ?)
        ON CONFLICT DO UPDATE SET reader = excluded.reader`).run(dataset, reader);
  });
}
