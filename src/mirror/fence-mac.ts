import { createHash, hash } from 'node:crypto';
import type { Database } from 'better-sqlite3';

/** The MAC of an identifier, one character a byte. Undefined without a key: nothing was ever fenced. */
export type FenceMac = (kind: string, value: string) => string | undefined;

const blockBytes = 64;

/**
 * HMAC-SHA-256 under the fence key of kind, a zero byte, and value. `readKey` is asked once, for the first MAC. Made of two
 * plain hashes over blocks that are prepared once: half of what Node's HMAC costs, and a page asks for thousands.
 */
export function fenceMacUnder(readKey: () => Buffer | undefined): FenceMac {
  let pads: { inner: Buffer; outer: Buffer } | undefined;
  return (kind, value) => {
    if (!pads) {
      const key = readKey();
      if (!key) return undefined;
      pads = { inner: padOf(key, 0x36, 4096), outer: padOf(key, 0x5c, 32) };
    }
    const text = `${kind}\0${value}`;
    // UTF-8 takes three bytes at most for each unit of a text.
    const bytesMax = blockBytes + text.length * 3;
    if (pads.inner.length < bytesMax) pads.inner = Buffer.concat([pads.inner.subarray(0, blockBytes)], bytesMax);
    const bytes = pads.inner.write(text, blockBytes, 'utf8');
    pads.outer.write(hash('sha256', pads.inner.subarray(0, blockBytes + bytes), 'binary'), blockBytes, 'latin1');
    return hash('sha256', pads.outer, 'binary');
  };
}

/** The key's first block of an HMAC, with room for what is hashed after it. */
function padOf(key: Buffer, mask: number, roomBytes: number): Buffer {
  const block = key.length > blockBytes ? createHash('sha256').update(key).digest() : key;
  const pad = Buffer.alloc(blockBytes + roomBytes);
  for (let at = 0; at < blockBytes; at += 1) pad[at] = (block[at] ?? 0) ^ mask;
  return pad;
}

const macs = new WeakMap<Database, FenceMac>();

/** Gives a connection its MAC, and the SQL function `fence_mac(kind, value)`: null for null, and without a key. */
export function addFenceMac(db: Database, macOf: FenceMac): void {
  macs.set(db, macOf);
  db.function('fence_mac', { deterministic: true, directOnly: true }, (kind, value) => {
    const mac = value === null ? undefined : macOf(String(kind), String(value));
    return mac === undefined ? null : Buffer.from(mac, 'latin1');
  });
}

/** The MACs of a fence in memory, so that the many identifiers that are not fenced are known without SQLite. */
export type FenceFilter = {
  /** Reads the fence again if it has grown. Call it in each transaction, before the first question. */
  refresh: () => void;
  isEmpty: () => boolean;
  /** False where an identifier is surely not fenced. */
  mayHold: (kind: string, value: string) => boolean;
};

/** Prepares the filter of a connection. It keeps four bytes of each MAC: a fence may have a million entries. */
export function prepareFenceFilter(db: Database): FenceFilter {
  const macOf = macs.get(db);
  const readEpoch = db.prepare<[], number>(/*sql*/ `SELECT epoch FROM erasure_epoch`).pluck();
  const readMacs = db.prepare<[], Buffer>(/*sql*/ `SELECT mac FROM fence`).pluck();
  const heads = new Set<number>();
  let epoch: number | undefined;
  return {
    refresh: () => {
      const now = readEpoch.get();
      if (epoch !== undefined && now === epoch) return;
      heads.clear();
      for (const mac of readMacs.iterate()) heads.add(mac.readInt32BE());
      epoch = now;
    },
    isEmpty: () => heads.size === 0,
    mayHold: (kind, value) => {
      // A connection without it here may have the SQL function, which then decides.
      if (!macOf) return true;
      const mac = macOf(kind, value);
      return mac !== undefined && heads.has(headOf(mac));
    },
  };
}

function headOf(mac: string): number {
  return (mac.charCodeAt(0) << 24) | (mac.charCodeAt(1) << 16) | (mac.charCodeAt(2) << 8) | mac.charCodeAt(3);
}
