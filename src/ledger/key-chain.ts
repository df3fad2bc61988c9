import { hash } from 'node:crypto';
import { isSignedBy, readVkey, vkeyOf, type VerifierKey } from './note.ts';
import type { LedgerRecord } from './record.ts';

/** A key that was replaced, at an entry. */
export type Rotation = Extract<LedgerRecord, { type: 'key_rotated' }> & { seq: number };

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

/** The keys from the first one on, each handed over to by the one before; undefined where one was not. */
export function keyChain(first: VerifierKey, rotations: readonly Rotation[]): VerifierKey[] | undefined {
  const chain = [first];
  let current = first;
  for (const { old_key: oldKey, new_key: newKey, signature } of rotations) {
    const next = { name: first.name, publicKey: Buffer.from(newKey, 'hex') };
    const signed = handover(next.name, next.publicKey);
    const isSigned = isSignedBy(signed, Buffer.from(signature, 'hex'), current);
    if (!isSigned || current.publicKey.toString('hex') !== oldKey) return undefined;
    chain.push(next);
    current = next;
  }
  return chain;
}
