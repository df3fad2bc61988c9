import { hash } from 'node:crypto';
import {
  derParts,
  isTrusted,
  readTimeStamp,
  type AuthorityCertificate,
  type TimeStamp,
} from '../../docs/verifier/verify.mjs';
import { readTimeStampFiles, type Checkpoint } from '../ledger/checkpoint.ts';

/** The request (RFC 3161, DER) for a time stamp over a SHA-256. The nonce is a positive integer of 8 bytes. */
export function timeStampQuery(imprint: Buffer, nonce: Buffer): Buffer {
  const hex = (text: string): Buffer => Buffer.from(text, 'hex');
  // A sequence of: version 1, the SHA-256, the nonce, and that the token shall carry its certificate.
  const imprintBegin = hex('3031300d060960864801650304020105000420');
  return Buffer.concat([hex('3043020101'), imprintBegin, imprint, hex('0208'), nonce, hex('0101ff')]);
}

/** The token (DER) in an authority's reply; undefined where it grants none, or is no reply. */
export function tokenOfReply(reply: Buffer): Buffer | undefined {
  try {
    const [content] = derParts(reply, '30');
    const [status, token] = derParts(content ?? Buffer.of(), '30 30*');
    const [code] = derParts(status ?? Buffer.of(), '02 …');
    // Granted, or granted with modifications.
    return code?.equals(Buffer.of(0)) === true || code?.equals(Buffer.of(1)) === true ? token : undefined;
  } catch {
    return undefined;
  }
}

/** The time stamps in a ledger's folder that are right. */
export function readTimeStamps(folder: string): TimeStamp[] {
  return readTimeStampFiles(folder).flatMap(({ token }) => (token && readTimeStamp(token)) ?? []);
}

/** The earliest time at which an authority with these certificates stamped a checkpoint, in seconds; undefined for never. */
export function stampedAt(
  { note }: Checkpoint,
  stamps: readonly TimeStamp[],
  certificates: readonly AuthorityCertificate[],
): number | undefined {
  const imprint = hash('sha256', note.text);
  const times = stamps
    .filter((stamp) => stamp.imprint === imprint && isTrusted(stamp, certificates))
    .map(({ time }) => time);
  return times.length === 0 ? undefined : Math.min(...times);
}
