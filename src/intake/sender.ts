import { createHmac } from 'node:crypto';
import type { Sender } from '../config/sender.ts';
import { sha256 } from '../core/digest.ts';
import type { KeptKey } from '../erasure/request/receipt.ts';

/** So often a request that was cancelled can be sent again under its idempotency key. */
const attemptsMax = 8;
/** A key is random: fewer characters than these could be guessed by its SHA-256 in the settings. */
const keyForm = /^[\x21-\x7e]{32,512}$/;

/** A sender who has shown its key. The key is held for as long as its call takes. */
export type KnownSender = { sender: Sender; key: string };

/**
 * Finds the sender of an `Authorization: Bearer` header; undefined for any other. Digests are looked up: the time that this takes
 * depends on a digest, of which nobody can choose a part, and tells nothing of a key.
 */
export function senderFinder(
  senders: readonly Sender[],
): (authorization: string | undefined) => KnownSender | undefined {
  const byDigest = new Map(senders.flatMap((sender) => sender.keys.map((digest) => [digest, sender] as const)));
  return (authorization) => {
    const [, key = ''] = /^bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
    if (!keyForm.test(key)) return undefined;
    const sender = byDigest.get(sha256(key));
    return sender && { sender, key };
  };
}

/**
 * The ids and keys of a request, made of its sender's key, its idempotency key and its content. So whoever sends it again is told the
 * same receipt, though nothing of it is kept here: neither the sender's key nor the idempotency key. The id has nothing of the content.
 */
export function attemptsOf({ key }: KnownSender, idempotencyKey: string, content: unknown): KeptKey[] {
  return Array.from({ length: attemptsMax }, (_, attempt) => ({
    request: ownId(key, mac(key, 'request', idempotencyKey, attempt)),
    subjectKey: mac(key, 'subject', idempotencyKey, attempt, content).toString('hex'),
  }));
}

/** Whether the id of a request was made with a sender's key. */
export function isOwnId({ key }: KnownSender, id: string): boolean {
  return ownId(key, Buffer.from(id.replaceAll('-', '').slice(0, 14), 'hex')) === id;
}

/** A uuid of 54 bits of a text's digest, and of 62 bits that say whose it is. */
function ownId(key: string, random: Buffer): string {
  const first = Buffer.from(random.subarray(0, 7));
  first.writeUInt8(((first[6] ?? 0) & 0x0f) | 0x40, 6);
  const bytes = Buffer.concat([first, mac(key, 'owner', first.toString('hex')).subarray(0, 9)]);
  bytes.writeUInt8(((bytes[8] ?? 0) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [0, 8, 12, 16, 20].map((from, at, all) => hex.slice(from, all[at + 1])).join('-');
}

/** HMAC-SHA-256 of JSON: no two things have one text. */
function mac(key: string, ...said: unknown[]): Buffer {
  return createHmac('sha256', key).update(JSON.stringify(said)).digest();
}
