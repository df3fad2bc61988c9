import { hash } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import { derivedKey, macCipher } from '../core/secret-key.ts';

/**
 * What stands for identifiers in the fence. Its tag is SHA-256 of the readers' key (64 hex digits), kind, `:` and value. Its MAC is the
 * tag, encrypted: only MACs are stored. Both keys are derived from the fence's, so that a consumer who has the readers' key can
 * compute tags, and test nobody by a copy of the mirror.
 */
export type FenceMac = {
  /** The tag of an identifier, one character a byte. Undefined without a key: nothing was ever fenced. */
  tagOf: (kind: string, value: string) => string | undefined;
  /** The MAC that a tag has, and the tag of a MAC (hex). Both throw without a key. */
  macOf: (tag: string) => string;
  tagIn: (mac: string) => string;
};

/** The key under which tags are made, in hex. */
export function readersKey(fenceKey: Buffer): string {
  return derivedKey(fenceKey, 'fence of readers').toString('hex');
}

/** A tag as hex. */
export function hexOf(tag: string): string {
  return Buffer.from(tag, 'latin1').toString('hex');
}

/** Makes tags and MACs under a fence's key. `readKey` is asked until there is one. A page asks for thousands of tags: each is one plain hash. */
export function fenceMacUnder(readKey: () => Buffer | undefined): FenceMac {
  type Own = { head: number; text: Buffer } & Pick<FenceMac, 'macOf' | 'tagIn'>;
  let made: Own | undefined;
  const own = (): Own | undefined => {
    const key = made ? undefined : readKey();
    if (key) {
      const head = Buffer.from(readersKey(key));
      const [macOf, tagIn] = (['encrypt', 'decrypt'] as const).map((way) => macCipher(key, way, 'fence in the mirror'));
      if (macOf && tagIn) made = { head: head.length, text: Buffer.concat([head], 4096), macOf, tagIn };
    }
    return made;
  };
  const needed = (): Own => {
    const has = own();
    if (!has) throw new Error('a MAC without the key of the fence');
    return has;
  };
  return {
    tagOf: (kind, value) => {
      const has = own();
      if (!has) return undefined;
      const text = `${kind}:${value}`;
      // UTF-8 takes three bytes at most for each unit of a text.
      const bytesMax = has.head + text.length * 3;
      if (has.text.length < bytesMax) has.text = Buffer.concat([has.text.subarray(0, has.head)], bytesMax);
      const bytes = has.text.write(text, has.head, 'utf8');
      return hash('sha256', has.text.subarray(0, has.head + bytes), 'binary');
    },
    macOf: (tag) => needed().macOf(tag),
    tagIn: (mac) => needed().tagIn(mac),
  };
}

const macs = new WeakMap<Database, FenceMac>();

/** Gives a connection its MACs, and the SQL function `fence_mac(kind, value)`: null for null, and without a key. */
export function addFenceMac(db: Database, mac: FenceMac): void {
  macs.set(db, mac);
  db.function('fence_mac', { deterministic: true, directOnly: true }, (kind, value) => {
    const tag = value === null ? undefined : mac.tagOf(String(kind), String(value));
    return tag === undefined ? null : Buffer.from(mac.macOf(hexOf(tag)), 'hex');
  });
}

/** The tags of what is fenced of some kinds, with its kind, each once, in no order. Throws without the fence's key. */
export function* fencedTags(db: Database, kinds: readonly string[]): Generator<{ kind: string; tag: string }> {
  const mac = macs.get(db);
  const sql = /*sql*/ `SELECT DISTINCT kind, lower(hex(mac)) AS mac FROM fence WHERE kind IN (SELECT value FROM json_each(?))`;
  const entries = db.prepare<[string], { kind: string; mac: string }>(sql).iterate(JSON.stringify(kinds));
  for (const entry of entries) if (mac) yield { kind: entry.kind, tag: mac.tagIn(entry.mac) };
}

/** The tags of a fence in memory, so that the many identifiers that are not fenced are known without SQLite. */
export type FenceFilter = {
  /** Reads the fence again if it has grown. Call it in each transaction, before the first question. */
  refresh: () => void;
  isEmpty: () => boolean;
  /** False where an identifier is surely not fenced. */
  mayHold: (kind: string, value: string) => boolean;
};

/** Prepares the filter of a connection. It keeps four bytes of each tag: a fence may have a million entries. */
export function prepareFenceFilter(db: Database): FenceFilter {
  const mac = macs.get(db);
  const readEpoch = db.prepare<[], number>(/*sql*/ `SELECT epoch FROM erasure_epoch`).pluck();
  const readMacs = db.prepare<[], Buffer>(/*sql*/ `SELECT mac FROM fence`).pluck();
  const headIn = (stored: Buffer): number =>
    mac ? Number.parseInt(mac.tagIn(stored.toString('hex')).slice(0, 8), 16) | 0 : 0;
  const heads = new Set<number>();
  let epoch: number | undefined;
  return {
    refresh: () => {
      const now = readEpoch.get();
      if (epoch !== undefined && now === epoch) return;
      heads.clear();
      for (const stored of readMacs.iterate()) heads.add(headIn(stored));
      epoch = now;
    },
    isEmpty: () => heads.size === 0,
    mayHold: (kind, value) => {
      // A connection without it here may have the SQL function, which then decides.
      if (!mac) return true;
      const tag = mac.tagOf(kind, value);
      return tag !== undefined && heads.has(headOf(tag));
    },
  };
}

function headOf(tag: string): number {
  return (tag.charCodeAt(0) << 24) | (tag.charCodeAt(1) << 16) | (tag.charCodeAt(2) << 8) | tag.charCodeAt(3);
}
