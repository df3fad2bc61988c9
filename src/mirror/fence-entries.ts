import { createHash } from 'node:crypto';
import type { Database } from 'better-sqlite3';
import { readOrMakeKey } from '../core/secret-key.ts';
import type { Columns } from '../contract/tolerant-reader.ts';
import { fenceKeyName, readEpoch } from './fence.ts';
import { fencedTags, fenceMacUnder, hexOf, readersKey } from './fence-mac.ts';

/** The kinds of identifiers that readers hold against the fence. An integer id can be another person's later. */
export const readerKinds = ['person_uuid', 'distinct_id', 'recording_id'] as const;
export type ReaderKind = (typeof readerKinds)[number];

/**
 * The identifier that names nobody and is in the fence of every consumer, of each kind: what finds it has the right key, the right
 * fence and the right columns. The entries that stand for it say how often the fence had risen.
 */
export const controlIdentifier = 'c0a47a01-9e1b-4c5e-8f2a-6d1f0b3e7a55';

/**
 * The key with which a consumer makes entries: the key of the tags, which all consumers have, and one of its own, each 64 hex digits.
 * The own one is made at its first use. Throws `storage` as `readKey` does.
 */
export function consumerKey(dataDir: string, consumer: string): string {
  const shared = readersKey(readOrMakeKey(dataDir, fenceKeyName));
  return `${shared}${readOrMakeKey(dataDir, `fence-${consumer}.key`).toString('hex')}`;
}

/**
 * The rows of `fence` for these consumers, in the order of their entries: SHA-256, in hex, of the consumer's own key (64 hex digits) and
 * the tag (hex). They have no end: only a person who is let in again leaves.
 */
export function fenceRows(db: Database, dataDir: string, consumers: readonly string[]): Columns[] {
  const { tagOf } = fenceMacUnder(() => readOrMakeKey(dataDir, fenceKeyName));
  const control = readerKinds.map((kind) => ({ kind, tag: hexOf(tagOf(kind, controlIdentifier) ?? '') }));
  const tags = consumers.length === 0 ? [] : [...fencedTags(db, readerKinds)];
  const epoch = BigInt(readEpoch(db));
  return consumers
    .flatMap((consumer) => {
      const own = consumerKey(dataDir, consumer).slice(64);
      const rowOf = ({ kind, tag }: { kind: string; tag: string }, of: bigint | null): Columns => {
        const entry = createHash('sha256').update(own).update(tag).digest('hex');
        return { entry, consumer, kind, epoch: of };
      };
      return [...control.map((one) => rowOf(one, epoch)), ...tags.map((one) => rowOf(one, null))];
    })
    .toSorted((a, b) => (String(a['entry']) < String(b['entry']) ? -1 : 1));
}

/** The SHA-256 of rows of `fence`: with another one, they are others. */
export function fenceDigest(rows: readonly Columns[]): string {
  const digest = createHash('sha256');
  for (const { entry, epoch } of rows) digest.update(`${String(entry)} ${String(epoch)}\n`);
  return digest.digest('hex');
}
