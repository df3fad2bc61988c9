import { hash } from 'node:crypto';
import { isSignedBy, readVkey, vkeyOf, type VerifierKey } from './note.ts';
import type { LedgerRecord } from './record.ts';

/** A key that was replaced, at an entry. */
export type Rotation = Extract<LedgerRecord, { type: 'key_rotated' }> & { seq: number };

/** The keys of a ledger in their order. `from`: the smallest size of which a checkpoint is signed with it. */
export type KeyChain = readonly { key: VerifierKey; from: number }[];

/** The keys that a text lists, one vkey on a line, all of one name; undefined when it is no such list. */
export function readVkeys(text: string): VerifierKey[] | undefined {
  const lines = text.split('\n');
  if (lines.pop() !== '') return undefined;
  const keys = lines.map((line) => readVkey(line)).filter((key) => key !== undefined);
  const [first] = keys;
  return first && keys.length === lines.length && keys.every(({ name }) => name === first.name) ? keys : undefined;
}

/** The name of the ledger whose first key this is. No other key gives the same name. */
export function ledgerName(firstKey: Buffer): string {
  return `analytics-mirror/${hash('sha256', firstKey, 'hex').slice(0, 32)}`;
}

/** The bytes that the old key signs to hand over to a new one: its vkey on a line, which no checkpoint is. */
export function handover(name: string, publicKey: Buffer): Buffer {
  return Buffer.from(`${vkeyOf({ name, publicKey })}\n`);
}

/** The keys from the first one on, each handed over to by the one before; and the entries where that went wrong. */
export function keyChain(first: VerifierKey, rotations: readonly Rotation[]): { chain: KeyChain; broken: number[] } {
  const chain = [{ key: first, from: 0 }];
  const broken: number[] = [];
  let current = first;
  for (const { seq, old_key: oldKey, new_key: newKey, signature } of rotations) {
    const next = { name: first.name, publicKey: Buffer.from(newKey, 'hex') };
    const signed = handover(next.name, next.publicKey);
    const isHandedOver =
      current.publicKey.toString('hex') === oldKey && isSignedBy(signed, Buffer.from(signature, 'hex'), current);
    if (!isHandedOver) broken.push(seq);
    else {
      chain.push({ key: next, from: seq + 1 });
      current = next;
    }
  }
  return { chain, broken };
}

/** Where in the chain the key is that signs a checkpoint of that size. */
export function keyIndexAt(chain: KeyChain, size: number): number {
  return chain.findLastIndex(({ from }) => from <= size);
}

/** Where in the chain a key is; -1 when it is not there. */
export function keyIndexOf(chain: KeyChain, key: VerifierKey): number {
  return chain.findIndex((link) => vkeyOf(link.key) === vkeyOf(key));
}
